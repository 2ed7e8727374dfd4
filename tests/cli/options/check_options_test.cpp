#include "cli/options/check_options.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

#include <chrono>

namespace actorrun::test::check_options_test {

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

TEST_CASE("checks: built-in ones are run by this program", "[cli]") {
  const auto checks = accepted({"--check=disk", "--check=x", "a"}).agent.checks;
  CHECK(checks.commands == words{"disk", "x"});
  CHECK(checks.built_in == words{"actorrun", node_check_word});
  for (const auto* command : {"./disk", "disc", "gpu 0"})
    CHECK(accepted({"--check", command, "a"}).agent.checks.built_in.empty());
}

TEST_CASE("checks: what takes the workers' memory cannot run beside them",
          "[cli]") {
  CHECK(has(refused({"--check=gpu", "--check-when=join,every:1h", "a"}),
            "the check gpu takes the memory that workers need"));
  CHECK(accepted({"--check=gpu-quick", "--check-when=every:1h", "a"})
          .agent.checks.when.every);
}

TEST_CASE("checks: a program around a launcher names what runs built-in ones",
          "[cli]") {
  auto x = accepted({"--no-python", "a"}).agent;
  x.workers.command = {"a"};
  x.checks.commands = {"clock"};
  const auto ok = validate(x);
  REQUIRE_FALSE(ok);
  CHECK(has(ok.error().text,
            "the check clock is built into actorrun, and this program has not "
            "said which program runs it (check_options::built_in)"));
  x.checks.built_in = {"/usr/bin/actorctl", "check"};
  CHECK(validate(x));
}

TEST_CASE("checks: what keeps sick nodes out is the coordinator's", "[cli]") {
  CHECK(accepted({"a"}).job.exclude_file.empty());
  CHECK_FALSE(accepted({"a"}).job.rules.node_failures_are_free);
  const auto job
    = accepted({"--exclude-file=/shared/sick", "--node-failures-are-free", "a"})
        .job;
  CHECK(job.exclude_file == "/shared/sick");
  CHECK(job.rules.node_failures_are_free);
  CHECK(has(refused({"--exclude-file=" + std::string(4096, 'x'), "a"}),
            "the path of the list of excluded hosts"));
}

TEST_CASE("checks: what follows from a GPU fault", "[cli]") {
  using enum core::gpu_fault_action;
  const auto action
    = [](const words& typed) { return accepted(typed).job.rules.on_gpu_fault; };
  CHECK(action({"a"}) == drain);
  CHECK(action({"--on-gpu-fault=report", "a"}) == report);
  CHECK(action({"--on-gpu-fault=exclude", "a"}) == exclude);
  CHECK(has(refused({"--on-gpu-fault=kill", "a"}),
            "\"kill\" is none of report, drain, exclude"));
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

} // namespace actorrun::test::check_options_test
