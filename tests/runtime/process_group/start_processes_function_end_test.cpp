#include "tests/runtime/process_group/start_processes_fixture.hpp"
#include "tests/support/catch.hpp"

#include <csignal>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

#include <sys/types.h>
#include <unistd.h>

namespace actorrun::test::start_processes_function_end_test {

using namespace actorrun::start_processes_test;

// -- what the workers do ------------------------------------------------------

namespace {

[[gnu::noinline]] void deep_inside(int depth) {
  if (depth == 0)
    throw std::out_of_range{"no such layer"};
  deep_inside(depth - 1);
  std::fflush(nullptr); // No tail call.
}

const auto fail = entry_point("fail", [] { deep_inside(3); });

const auto leave = entry_point("leave", [](int code) { ::_exit(code); });

const auto die = entry_point("die", [](int signal) { ::raise(signal); });

const auto fail_or_hang = entry_point("fail-or-hang", [](bool fails) {
  if (fails)
    throw std::runtime_error{"failed"};
  while (true)
    ::pause();
});

const auto close_all = entry_point("close-all", [] {
  for (auto fd = 3; fd < 64; ++fd)
    ::close(fd);
  return 1;
});

const auto methods
  = {start_method::spawn, start_method::fork, start_method::fork_server};

} // namespace

// -- how they end -------------------------------------------------------------

TEST_CASE_METHOD(fixture,
                 "start_processes: an exception is reported with type, "
                 "text and call stack",
                 "[start_processes]") {
  const auto method = GENERATE(values(methods));
  const auto result = run(calls(fail, method, {{}}));
  CHECK(failures_of(result) == "0: code 1");
  const auto& details = result.first_failure().details;
  CHECK(details.message == "std::out_of_range: no such layer");
  CHECK(details.traceback.find("deep_inside") != std::string::npos);
  CHECK(details.error_file.ends_with("/0/error.json"));
  CHECK(result.return_values.empty());
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a function that dies of a signal "
                 "is reported",
                 "[start_processes]") {
  const auto method = GENERATE(values(methods));
  const auto result = run(calls(die, method, {{SIGKILL}}));
  CHECK(failures_of(result) == "0: signal 9");
  // It was called, so there is no other error.
  CHECK(result.first_failure().details.message.empty());
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a function that ends its process "
                 "returns nothing",
                 "[start_processes]") {
  const auto method = GENERATE(values(methods));
  const auto result = run(calls(leave, method, {{0}, {0}}));
  CHECK(failures_of(result).empty());
  CHECK(result.return_values.empty());
  CHECK(failures_of(run(calls(leave, method, {{5}}))) == "0: code 5");
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a function's failure stops the "
                 "others",
                 "[start_processes]") {
  const auto method = GENERATE(values(methods));
  auto group = start(calls(fail_or_hang, method, {{false}, {true}, {false}}));
  const auto result = finish(*group);
  CHECK(failures_of(result) == "1: code 1");
  for (const auto& [rank, pid] : group->pids())
    CHECK_FALSE(runs(pid));
}

TEST_CASE_METHOD(fixture,
                 "start_processes: the end of a context leaves no "
                 "function",
                 "[start_processes]") {
  const auto method = GENERATE(values(methods));
  auto pids = std::map<uint32_t, pid_t>{};
  {
    auto group = start(calls(fail_or_hang, method, {{false}, {false}}));
    pids = group->pids();
  }
  for (const auto& [rank, pid] : pids)
    CHECK_FALSE(runs(pid));
  CHECK_FALSE(has_children());
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a function that closes the "
                 "launcher's descriptor fails",
                 "[start_processes]") {
  const auto method = GENERATE(values(methods));
  const auto result = run(calls(close_all, method, {{}}));
  CHECK(failures_of(result) == "0: code 1");
  CHECK(result.first_failure().details.message.find("return value")
        != std::string::npos);
}

// -- a main that forgets ------------------------------------------------------

namespace {

std::string run_forgetful(const fixture& x, const argument_list& how,
                          bool forgets) {
  auto options = process_options{
    .entrypoint = FORGETFUL_PROGRAM,
    .args = {{0, how}},
    .envs = {{0, {}}},
    .logs = {.folder = x.logs(), .redirects = {std_streams::all}}};
  if (forgets)
    options.envs[0]["FORGET"] = "1";
  const auto result = run(std::move(options));
  return failures_of(result) + " " + content_of(result.stderrs.at(0));
}

} // namespace

TEST_CASE_METHOD(fixture,
                 "start_processes: a program that never reaches "
                 "run_as_worker starts no worker",
                 "[start_processes]") {
  for (const auto* how : {"spawn", "fork_server"})
    CHECK(run_forgetful(*this, {how}, true)
          == "0: code 3 refused: \"nothing\" cannot be reached in a process of "
             "its own: main must call actorrun::run_as_worker(argc, argv) "
             "before all else\n");
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a worker whose main takes another "
                 "path is reported, and starts nothing",
                 "[start_processes]") {
  const auto text = run_forgetful(*this, {"spawn"}, false);
  CHECK(text.find("refused: this process is a worker itself")
        != std::string::npos);
  CHECK(text.find("failed: the function was never called")
        != std::string::npos);
  CHECK(text.starts_with("0: code 4"));
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a worker that only claims to have "
                 "done its work has failed",
                 "[start_processes]") {
  const auto text = run_forgetful(*this, {"spawn", "quiet"}, false);
  CHECK(text.starts_with("0: code 4 failed: the function was never called"));
}

TEST_CASE_METHOD(
  fixture,
  "start_processes: a fork server whose main takes another path is reported",
  "[start_processes]") {
  const auto text = run_forgetful(*this, {"fork_server"}, false);
  CHECK(text.starts_with("0: code 3 refused: \"nothing\" cannot be reached"));
  CHECK(text.find("refused: local rank 0 cannot be started: /proc/self/exe (as "
                  "a fork server)")
        != std::string::npos);
}

} // namespace actorrun::test::start_processes_function_end_test
