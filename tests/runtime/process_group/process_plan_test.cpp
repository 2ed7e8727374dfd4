#include "actors/core/generation.hpp"
#include "runtime/process_group/call_channel.hpp"
#include "runtime/process_group/process_plan.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

namespace actorrun::test::process_plan_test {

using namespace actorrun::detail;
using core::std_streams;

namespace {

using strings = std::vector<std::string>;

const auto add = entry_point("plan-add", [](int a, int b) { return a + b; });

process_options echo() {
  return {.name = "greeter",
          .entrypoint = "echo",
          .args = {{0, {"a"}}, {1, {"b", 1, 2.5, true}}},
          .envs = {{0, {{"LOCAL_RANK", "0"}}}, {1, {}}}};
}

process_options sums() {
  return {.name = "adder",
          .entrypoint = add,
          .args = {{0, {1, 2}}, {1, {3, 4}}},
          .envs = {{0, {}}, {1, {}}},
          .method = start_method::fork};
}

std::string complaint(const process_options& x) {
  const auto checked = check(x);
  if (checked)
    return "none";
  CHECK(checked.error().code == errc::bad_argument);
  return checked.error().text;
}

core::generation_outputs outputs(uint32_t count) {
  return core::plan_outputs({}, "/logs", count);
}

bool has(const ports::process_spec& x, const std::string& line) {
  return std::ranges::count(x.environment, line) == 1;
}

} // namespace

TEST_CASE("process_plan: ranks are printed as ranges", "[runtime]") {
  CHECK(ranks_text({}) == "{}");
  CHECK(ranks_text({3}) == "{3}");
  CHECK(ranks_text({0, 1}) == "{0, 1}");
  CHECK(ranks_text({0, 1, 2, 5, 7, 8, 9}) == "{0-2, 5, 7-9}");
}

TEST_CASE("process_plan: a valid plan is accepted", "[runtime]") {
  CHECK(complaint(echo()) == "none");
  CHECK(complaint(sums()) == "none");
}

TEST_CASE("process_plan: args and envs have the same ranks from 0 on",
          "[runtime]") {
  auto x = echo();
  SECTION("a gap in args") {
    x.args = {{0, {}}, {2, {}}};
    CHECK(complaint(x)
          == "args: the local ranks do not match, expected: {0, 1}, actual: "
             "{0, 2}");
  }
  SECTION("args that begin later") {
    x.args = {{1, {}}, {2, {}}};
    CHECK(complaint(x).ends_with("expected: {0, 1}, actual: {1, 2}"));
  }
  SECTION("envs for fewer") {
    x.envs.erase(1);
    CHECK(complaint(x)
          == "envs: the local ranks do not match, expected: {0, 1}, actual: "
             "{0}");
  }
  SECTION("envs for more") {
    x.envs[2] = {};
    CHECK(complaint(x).ends_with("expected: {0, 1}, actual: {0-2}"));
  }
  SECTION("none at all") {
    x.args.clear();
    CHECK(complaint(x) == "args has 0 local ranks, not 1..4096");
  }
}

TEST_CASE("process_plan: there are at most slots_per_agent_max processes",
          "[runtime]") {
  auto x = echo();
  for (uint32_t rank = 0; rank < core::slots_per_agent_max; ++rank) {
    x.args[rank] = {};
    x.envs[rank] = {};
  }
  CHECK(complaint(x) == "none");
  x.args[core::slots_per_agent_max] = {};
  CHECK(complaint(x) == "args has 4097 local ranks, not 1..4096");
}

TEST_CASE("process_plan: ranks that do not exist are refused", "[runtime]") {
  auto x = echo();
  SECTION("in prefixes") {
    x.log_line_prefixes = {{1, "b:"}};
    CHECK(complaint(x) == "none");
    x.log_line_prefixes = {{2, "c:"}};
    CHECK(complaint(x)
          == "log_line_prefixes: there is no local rank 2 in {0, 1}");
  }
  SECTION("in redirects") {
    x.logs.redirects.by_rank = {{1, std_streams::all}};
    CHECK(complaint(x) == "none");
    x.logs.redirects.by_rank = {{2, std_streams::all}};
    CHECK(complaint(x) != "none");
  }
  SECTION("among those shown") {
    x.logs.shown_ranks = {{0, 2}};
    CHECK(complaint(x) != "none");
  }
}

TEST_CASE("process_plan: texts that cannot be passed on are refused",
          "[runtime]") {
  const auto nul = std::string{"a\0b", 3};
  auto x = echo();
  SECTION("a variable without a name") {
    x.envs[1] = {{"", "x"}};
    CHECK(complaint(x) == "local rank 1: \"\" cannot name a variable");
  }
  SECTION("a name with an equals sign") {
    x.envs[1] = {{"A=B", "x"}};
    CHECK(complaint(x) == "local rank 1: \"A=B\" cannot name a variable");
  }
  SECTION("a value with a NUL") {
    x.envs[0]["A"] = nul;
    CHECK(complaint(x) == "local rank 0: the variable A has a NUL");
  }
  SECTION("an argument with a NUL") {
    x.args[0] = {"fine", nul};
    CHECK(complaint(x) == "local rank 0: argument 2 has a NUL in it");
  }
  SECTION("a program with a NUL") {
    x.entrypoint = nul;
    CHECK(complaint(x) == "the name of the program has a NUL in it");
  }
  SECTION("a prefix of two lines") {
    x.log_line_prefixes = {{0, "a\nb"}};
    CHECK(complaint(x)
          == "local rank 0: its prefix has a line end or NUL in it");
  }
  SECTION("a name with an escape") {
    x.name = "\x1b[2J";
    CHECK(complaint(x) == "the name has control characters in it");
  }
}

TEST_CASE("process_plan: a name has at most 255 bytes", "[runtime]") {
  auto x = echo();
  x.name = std::string(255, 'n');
  CHECK(complaint(x) == "none");
  x.name += 'n';
  CHECK(complaint(x) == "the name is longer than 255 bytes");
}

TEST_CASE("process_plan: there is a program", "[runtime]") {
  auto x = echo();
  x.entrypoint = "";
  CHECK(complaint(x) == "there is no program to start");
}

TEST_CASE("process_plan: a program gets only texts, numbers and booleans",
          "[runtime]") {
  auto x = echo();
  x.args[1] = {"a", nullptr};
  CHECK(complaint(x)
        == "local rank 1: argument 2 of a program must be text, a number or a "
           "boolean, not null");
  x.args[1] = {nlohmann::json::array({1})};
  CHECK(complaint(x).ends_with("not array"));
}

TEST_CASE("process_plan: a function takes the arguments of each rank",
          "[runtime]") {
  auto x = sums();
  x.args[1] = {3};
  CHECK(complaint(x)
        == "local rank 1: entry point \"plan-add\": takes 2 arguments, not 1");
  x.args[1] = {3, "4"};
  CHECK(complaint(x).starts_with(
    "local rank 1: entry point \"plan-add\": argument 2 must be an integer"));
}

TEST_CASE("process_plan: a program whose main does not call run_as_worker "
          "cannot run functions in new processes",
          "[runtime]") {
  // Like the program of these tests.
  auto x = sums();
  for (const auto method : {start_method::spawn, start_method::fork_server}) {
    x.method = method;
    CHECK(complaint(x)
          == "\"plan-add\" cannot be reached in a process of its own: main "
             "must call actorrun::run_as_worker(argc, argv) before all else");
  }
}

TEST_CASE("process_plan: a worker in the wrong place starts nothing",
          "[runtime]") {
  ::setenv("ACTORRUN_FUNCTION", "any", 1);
  const auto text = complaint(echo());
  ::unsetenv("ACTORRUN_FUNCTION");
  CHECK(text.starts_with("this process is a worker itself"));
}

TEST_CASE("process_plan: signal and grace period are bounded", "[runtime]") {
  using namespace std::chrono_literals;
  auto x = echo();
  x.grace_period = 0ms;
  CHECK(complaint(x) == "none");
  x.grace_period = -1ms;
  CHECK(complaint(x) != "none");
  x.grace_period = 7 * 24h;
  CHECK(complaint(x) == "none");
  x.grace_period += 1ms;
  CHECK(complaint(x) != "none");
  x.grace_period = 0ms;
  x.stop_signal = SIGRTMAX;
  CHECK(complaint(x) == "none");
  x.stop_signal = SIGRTMAX + 1;
  CHECK(complaint(x) != "none");
  x.stop_signal = 0;
  CHECK(complaint(x) != "none");
}

TEST_CASE("process_plan: an environment is inherited and extended",
          "[runtime]") {
  const auto inherited = strings{"B=1", "A=1", "=odd", "none", "C=x=y"};
  CHECK(
    process_environment(inherited, {{"B", "2"}, {"D", ""}}, "/e.json")
    == strings{"A=1", "B=2", "C=x=y", "D=", "TORCHELASTIC_ERROR_FILE=/e.json"});
  // The error file of another process must not be used.
  CHECK(process_environment({}, {{"TORCHELASTIC_ERROR_FILE", "/their"}}, "")
        == strings{"TORCHELASTIC_ERROR_FILE="});
}

TEST_CASE("process_plan: programs are executed with their arguments",
          "[runtime]") {
  const auto made = make_processes(echo(), strings{"HOME=/h"}, outputs(2), {});
  REQUIRE(made.size() == 2);
  CHECK(made[0].arguments == strings{"echo", "a"});
  CHECK(made[1].arguments == strings{"echo", "b", "1", "2.5", "true"});
  CHECK(made[1].local_rank == 1);
  CHECK(made[1].method == ports::start_method::exec);
  CHECK(made[1].descriptors.empty());
  CHECK(has(made[0], "LOCAL_RANK=0"));
  CHECK(made[1].environment
        == strings{"HOME=/h", "TORCHELASTIC_ERROR_FILE=/logs/1/error.json"});
}

TEST_CASE("process_plan: functions get their files by start method",
          "[runtime]") {
  auto x = sums();
  SECTION("fork: the body has the arguments") {
    auto files = make_call_files(x);
    REQUIRE(files);
    const auto made = make_processes(x, {}, outputs(2), *files);
    CHECK(made[1].method == ports::start_method::fork);
    CHECK(made[1].body);
    CHECK(made[1].descriptors == std::vector{(*files)[1].returned.get()});
    CHECK_FALSE((*files)[1].call);
  }
  SECTION("spawn: the program finds the call") {
    x.method = start_method::spawn;
    auto files = make_call_files(x);
    REQUIRE(files);
    const auto made = make_processes(x, {}, outputs(2), *files);
    CHECK(made[1].method == ports::start_method::exec);
    CHECK(made[1].arguments == strings{"/proc/self/exe"});
    CHECK(has(made[1], "ACTORRUN_FUNCTION=plan-add"));
    CHECK(made[1].descriptors
          == std::vector{(*files)[1].returned.get(), (*files)[1].call.get()});
    const auto call = read_call((*files)[1].call.get());
    REQUIRE(call);
    CHECK(call->function == "plan-add");
    CHECK(call->arguments == argument_list{3, 4});
  }
  SECTION("fork server: likewise, and nothing in the environment") {
    x.method = start_method::fork_server;
    auto files = make_call_files(x);
    REQUIRE(files);
    const auto made = make_processes(x, {}, outputs(2), *files);
    CHECK(made[0].method == ports::start_method::fork_server);
    CHECK(made[0].arguments == strings{"/proc/self/exe", "plan-add"});
    CHECK(made[0].environment
          == strings{"TORCHELASTIC_ERROR_FILE=/logs/0/error.json"});
    CHECK(made[0].descriptors.size() == 2);
  }
}

TEST_CASE(
  "process_plan: arguments that are too large are reported with the rank",
  "[runtime]") {
  static const auto text = entry_point("plan-text", [](std::string) {});
  auto x = sums();
  x.entrypoint = text;
  x.method = start_method::spawn;
  x.args = {{0, {"a"}}, {1, {std::string(call_size_max, 'x')}}};
  const auto files = make_call_files(x);
  REQUIRE_FALSE(files);
  CHECK(files.error().code == errc::bad_argument);
  CHECK(files.error().text.starts_with("local rank 1: the arguments are "));
}

TEST_CASE("process_plan: run id and restart count are those of rank 0",
          "[runtime]") {
  auto x = echo();
  CHECK(run_id_of(x) == "greeter");
  CHECK(plan_of(x).restart_count == 0);
  x.envs[0]["TORCHELASTIC_RUN_ID"] = "job-7";
  x.envs[0]["TORCHELASTIC_RESTART_COUNT"] = "3";
  CHECK(run_id_of(x) == "job-7");
  CHECK(plan_of(x).restart_count == 3);
  x.envs[0]["TORCHELASTIC_RESTART_COUNT"] = "many";
  CHECK(plan_of(x).restart_count == 0);
  CHECK(plan_of(x).own.slot_count == 2);
  CHECK(plan_of(x).world_size == 2);
}

} // namespace actorrun::test::process_plan_test
