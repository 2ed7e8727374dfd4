#include "cli/options/failure_options.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

#include <chrono>

namespace actorrun::test::failure_options_test {

using namespace actorrun::cli;
using namespace std::chrono_literals;
using core::end_action;
using core::end_class;

namespace {

core::restart_rules rules_of(words line) {
  line.push_back("a");
  return accepted(line).job.rules;
}

std::string refused_with(words line) {
  line.push_back("a");
  return refused(line);
}

} // namespace

TEST_CASE("failures: without an option nothing is different", "[cli]") {
  CHECK(rules_of({}) == core::restart_rules{});
  CHECK_FALSE(accepted({"a"}).has_class_codes);
  CHECK(accepted({"--class-exit-codes", "a"}).has_class_codes);
}

TEST_CASE("failures: each class has an action", "[cli]") {
  const auto x
    = rules_of({"--on-failure=user:stop", "--on-failure", "node:exclude",
                "--on-failure=unknown:restart", "--on-failure=user:stop"});
  CHECK(x.action_for(end_class::user) == end_action::stop);
  CHECK(x.action_for(end_class::node) == end_action::exclude);
  CHECK(x.action_for(end_class::unknown) == end_action::restart);
  CHECK(x.action_for(end_class::program) == end_action::usual);
}

TEST_CASE("failures: a rule that is none is refused", "[cli]") {
  const auto why = [](const std::string& text) {
    return refused_with({"--on-failure=" + text});
  };
  CHECK(has(why("node"), "\"node\" is not CLASS:ACTION"));
  CHECK(has(why("node:stop:now"), "is not CLASS:ACTION"));
  CHECK(has(why("none:stop"), "names no class of an end"));
  CHECK(has(why("nodes:stop"), "names no class of an end"));
  CHECK(has(why("node:usual"), "names no action: restart, stop and exclude"));
  CHECK(
    has(refused_with({"--on-failure=node:stop", "--on-failure=node:restart"}),
        "contradicts --on-failure=node:stop"));
}

TEST_CASE("failures: a backoff has a first wait and a longest", "[cli]") {
  const auto of = [](const std::string& text) {
    const auto x = rules_of({"--restart-backoff=" + text});
    return std::pair{x.backoff_min, x.backoff_max};
  };
  using milliseconds = std::chrono::milliseconds;
  CHECK(of("1s:2m") == std::pair<milliseconds, milliseconds>{1s, 2min});
  CHECK(of("1s") == std::pair<milliseconds, milliseconds>{1s, 5min});
  CHECK(of("10m") == std::pair<milliseconds, milliseconds>{10min, 10min});
  CHECK(of("2s:2s") == std::pair<milliseconds, milliseconds>{2s, 2s});
  CHECK(has(refused_with({"--restart-backoff=2s:1s"}),
            "the longest wait is shorter than the first"));
  CHECK(has(refused_with({"--restart-backoff=1s:2s:3s"}), "MIN or MIN:MAX"));
  CHECK(has(refused_with({"--restart-backoff=0"}), "--restart-backoff"));
}

TEST_CASE("failures: counts", "[cli]") {
  CHECK(rules_of({"--exclude-after=3"}).exclude_after == 3);
  CHECK(rules_of({"--restarts-without-progress=4"}).idle_restarts_max == 4);
  CHECK(has(refused_with({"--restarts-without-progress=-1"}),
            "--restarts-without-progress"));
}

} // namespace actorrun::test::failure_options_test
