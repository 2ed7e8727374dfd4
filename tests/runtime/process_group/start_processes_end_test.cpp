#include "tests/runtime/process_group/start_processes_fixture.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <csignal>
#include <string>
#include <thread>

namespace actorrun::test::start_processes_end_test {

using namespace actorrun::start_processes_test;

namespace {

/// Ignores SIGTERM, and reports when it does.
std::string stubborn(const folder& here) {
  return "trap '' TERM; touch " + here / "ready"
         + "; while true; do sleep 0.01; done";
}

bool is_ready(const folder& here) {
  return soon([&] { return fs::exists(here / "ready"); });
}

} // namespace

TEST_CASE_METHOD(fixture, "start_processes: a failure stops the others",
                 "[start_processes]") {
  auto group = start(shells({"sleep 1000", "exit 3", "sleep 1000"}));
  const auto result = finish(*group);
  CHECK(result.is_failed());
  CHECK_FALSE(result.succeeded());
  CHECK(failures_of(result) == "1: code 3");
  CHECK(result.first_failure().pid == group->pids().at(1));
  CHECK(result.first_failure().local_rank == 1);
  CHECK(result.return_values.empty());
  CHECK_FALSE(result.was_closed);
  for (const auto& [rank, pid] : group->pids())
    CHECK_FALSE(runs(pid));
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a success before a failure "
                 "remains",
                 "[start_processes]") {
  auto group = start(shells({"true", "until test -e " + here / "go"
                                       + "; do sleep 0.01; done; exit 3"}));
  REQUIRE(soon([&] { return !runs(group->pids().at(0)); }));
  std::ofstream{here / "go"};
  const auto result = finish(*group);
  CHECK(failures_of(result) == "1: code 3");
  CHECK(result.return_values.contains(0));
}

TEST_CASE_METHOD(fixture, "start_processes: a death by signal is reported",
                 "[start_processes]") {
  const auto result = run(shells({"kill -KILL $$", "sleep 1000"}));
  CHECK(failures_of(result) == "0: signal 9");
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a failed group gets the stop "
                 "signal, and SIGKILL after the grace period",
                 "[start_processes]") {
  auto x = shells({stubborn(here), "until test -e " + here / "ready"
                                     + "; do sleep 0.01; done; exit 3"});
  x.grace_period = 200ms;
  auto group = start(std::move(x));
  const auto began = clock_type::now();
  const auto result = finish(*group);
  CHECK(clock_type::now() - began >= 200ms);
  CHECK(failures_of(result) == "1: code 3");
  CHECK_FALSE(runs(group->pids().at(0)));
}

TEST_CASE_METHOD(fixture, "start_processes: the stop signal can be chosen",
                 "[start_processes]") {
  auto x = shells(
    {"trap 'echo usr1; exit' USR1; touch " + here / "ready"
       + "; while true; do sleep 0.01; done",
     "until test -e " + here / "ready" + "; do sleep 0.01; done; exit 3"});
  x.stop_signal = SIGUSR1;
  const auto result = run(std::move(x));
  CHECK(content_of(result.stdouts.at(0)) == "usr1\n");
}

TEST_CASE_METHOD(
  fixture, "start_processes: closing sends the stop signal, and is no failure",
  "[start_processes]") {
  auto group
    = start(shells({"trap 'echo bye; exit 9' TERM; touch " + here / "ready"
                      + "; while true; do sleep 0.01; done",
                    "sleep 1000"}));
  REQUIRE(is_ready(here));
  CHECK(group->close());
  const auto result = finish(*group);
  CHECK(result.was_closed);
  CHECK_FALSE(result.is_failed());
  CHECK_FALSE(result.succeeded());
  CHECK(result.return_values.empty());
  CHECK(content_of(result.stdouts.at(0)) == "bye\n");
  CHECK(group->close()); // A second call does nothing.
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a process that does not stop is "
                 "killed after the timeout",
                 "[start_processes]") {
  auto group = start(shells({stubborn(here)}));
  REQUIRE(is_ready(here));
  const auto began = clock_type::now();
  CHECK(group->close(SIGTERM, 200ms));
  CHECK(clock_type::now() - began >= 200ms);
  CHECK_FALSE(runs(group->pids().at(0)));
  CHECK(finish(*group).was_closed);
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a close with timeout 0, or with an "
                 "invalid signal, kills",
                 "[start_processes]") {
  auto group = start(shells({stubborn(here)}));
  REQUIRE(is_ready(here));
  SECTION("timeout 0") {
    CHECK(group->close(SIGTERM, 0ms));
  }
  SECTION("a negative timeout") {
    CHECK(group->close(SIGTERM, -1s));
  }
  SECTION("signal 0") {
    CHECK(group->close(0));
  }
  SECTION("a signal beyond the last") {
    CHECK(group->close(SIGRTMAX + 1));
  }
  CHECK_FALSE(runs(group->pids().at(0)));
}

TEST_CASE_METHOD(fixture, "start_processes: a close ends a long grace period",
                 "[start_processes]") {
  auto x = shells({stubborn(here), "until test -e " + here / "ready"
                                     + "; do sleep 0.01; done; exit 3"});
  x.grace_period = std::chrono::hours{1};
  auto group = start(std::move(x));
  REQUIRE(is_ready(here));
  CHECK_FALSE(group->wait(100ms));
  CHECK(group->close(SIGTERM, 100ms));
  CHECK(failures_of(finish(*group)) == "1: code 3");
}

TEST_CASE_METHOD(fixture, "start_processes: closing ends a wait",
                 "[start_processes]") {
  auto group = start(shells({"sleep 1000"}));
  auto waiting = std::thread{[&] { CHECK(group->wait()->was_closed); }};
  group->close();
  waiting.join();
}

TEST_CASE_METHOD(fixture,
                 "start_processes: the end of a context leaves no "
                 "process, not even children of its processes",
                 "[start_processes]") {
  auto orphan = pid_t{0};
  auto leaders = std::map<uint32_t, pid_t>{};
  {
    auto group = start(shells({tell_pid(here / "pid") + "wait", "sleep 1000"}));
    orphan = read_pid(here / "pid");
    leaders = group->pids();
    REQUIRE(orphan != 0);
  }
  CHECK_FALSE(runs(orphan));
  for (const auto& [rank, pid] : leaders)
    CHECK_FALSE(runs(pid));
  CHECK_FALSE(has_children());
}

TEST_CASE_METHOD(fixture,
                 "start_processes: the end of a group ends the "
                 "children of its processes",
                 "[start_processes]") {
  auto group = start(shells({tell_pid(here / "pid") + "exit 0"}));
  finish(*group);
  const auto orphan = read_pid(here / "pid");
  CHECK(soon([&] { return !runs(orphan); }));
}

TEST_CASE_METHOD(fixture,
                 "start_processes: the text of a program's error "
                 "file is reported",
                 "[start_processes]") {
  const auto result = run(
    shells({R"(echo '{"message": {"message": "ValueError: no", "extraInfo": )"
            R"({"py_callstack": "in line 7", "timestamp": "1"}}}' )"
            R"(> $TORCHELASTIC_ERROR_FILE; exit 1)"}));
  REQUIRE(result.is_failed());
  const auto& details = result.first_failure().details;
  CHECK(details.message == "ValueError: no");
  CHECK(details.traceback == "in line 7");
  CHECK(details.error_file.ends_with("/0/error.json"));
}

TEST_CASE_METHOD(fixture,
                 "start_processes: without an error file the last "
                 "lines of standard error are reported",
                 "[start_processes]") {
  const auto result = run(shells({"echo last words >&2; exit 1"}));
  REQUIRE(result.is_failed());
  const auto& details = result.first_failure().details;
  CHECK(details.is_from_stderr);
  CHECK(details.traceback.find("last words") != std::string::npos);
}

} // namespace actorrun::test::start_processes_end_test
