#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

#include <chrono>

using namespace actorrun;
using namespace actorrun::cli;
using namespace std::chrono_literals;

TEST_CASE("checks: none unless they are asked for", "[cli]") {
  CHECK(accepted({"a"}).agent.checks == check_options{});
}

TEST_CASE("checks: there may be several, in their order", "[cli]") {
  const auto checks
    = accepted({"--check=nvidia-smi", "--check", "test -w /scratch", "a"})
        .agent.checks;
  CHECK(checks.commands == words{"nvidia-smi", "test -w /scratch"});
  CHECK(checks.when == core::check_moments{});
  CHECK(checks.limit == 60s);
  CHECK(accepted({"a"}, {{"PET_CHECK", "true"}}).agent.checks.commands
        == words{"true"});
  // The command line counts.
  CHECK(accepted({"--check=false", "a"}, {{"PET_CHECK", "true"}})
          .agent.checks.commands
        == words{"false"});
}

TEST_CASE("checks: their moments", "[cli]") {
  const auto when = [](const std::string& text) {
    return accepted({"--check=x", "--check-when=" + text, "a"})
      .agent.checks.when;
  };
  CHECK(when("join") == core::check_moments{.join = true, .failure = false});
  CHECK(when("restart, every:1h")
        == core::check_moments{
          .join = false, .failure = false, .restart = true, .every = 1h});
  for (const auto& text : words{"", "start", "join,", "every", "every:"})
    CHECK(
      has(refused({"--check=x", "--check-when=" + text, "a"}), "--check-when"));
  CHECK(
    has(refused({"--check=x", "--check-when=every:1ms", "a"}), "--check-when"));
}

TEST_CASE("checks: their time", "[cli]") {
  CHECK(accepted({"--check=x", "--check-timeout=5m", "a"}).agent.checks.limit
        == 5min);
  CHECK(
    has(refused({"--check=x", "--check-timeout=0", "a"}), "--check-timeout"));
}

TEST_CASE("checks: what is about checks needs one", "[cli]") {
  CHECK(has(refused({"--check-when=join", "a"}),
            "--check-when needs a command: --check=COMMAND"));
  CHECK(has(refused({"--check-timeout=5m", "a"}),
            "--check-timeout needs a command: --check=COMMAND"));
  CHECK(has(refused({"--check=", "a"}), "a check is empty"));
  CHECK(has(refused({"--check=" + std::string(4097, 'x'), "a"}), "a check"));
}
