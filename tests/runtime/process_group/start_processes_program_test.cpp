#include "runtime/system_config.hpp"
#include "tests/runtime/process_group/start_processes_fixture.hpp"
#include "tests/support/catch.hpp"

#include <caf/actor_system.hpp>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <string>

#include <sys/stat.h>

namespace actorrun::test::start_processes_program_test {

using namespace actorrun::start_processes_test;

TEST_CASE_METHOD(fixture, "start_processes: programs get their arguments",
                 "[start_processes]") {
  auto x = shells({"", ""});
  x.args[0] = {"-c", "printf '%s|' \"$@\"", "sh", "a b", "", "$HOME"};
  x.args[1] = {"-c", "printf '%s|' \"$@\"", "sh", 7, -1, 0.5, true};
  const auto result = run(std::move(x));
  CHECK(failures_of(result).empty());
  CHECK(content_of(result.stdouts.at(0)) == "a b||$HOME|");
  CHECK(content_of(result.stdouts.at(1)) == "7|-1|0.5|true|");
  // A program returns no value, and a rank that has succeeded reports so.
  CHECK(result.return_values
        == std::map<uint32_t, nlohmann::json>{{0, nullptr}, {1, nullptr}});
}

TEST_CASE_METHOD(fixture, "start_processes: each process has its variables",
                 "[start_processes]") {
  ::setenv("ACTORRUN_TEST_INHERITED", "ours", 1);
  ::setenv("ACTORRUN_TEST_REPLACED", "ours", 1);
  const auto script = "echo $ACTORRUN_TEST_INHERITED $ACTORRUN_TEST_REPLACED "
                      "${ACTORRUN_TEST_OWN-none} ${LOCAL_RANK-none}";
  auto x = shells({script, script});
  x.envs[0] = {{"ACTORRUN_TEST_OWN", "0's"}, {"LOCAL_RANK", "0"}};
  x.envs[1] = {{"ACTORRUN_TEST_REPLACED", "1's"}};
  const auto result = run(std::move(x));
  ::unsetenv("ACTORRUN_TEST_INHERITED");
  ::unsetenv("ACTORRUN_TEST_REPLACED");
  CHECK(content_of(result.stdouts.at(0)) == "ours ours 0's 0\n");
  CHECK(content_of(result.stdouts.at(1)) == "ours 1's none none\n");
  CHECK(std::getenv("ACTORRUN_TEST_OWN") == nullptr);
}

TEST_CASE_METHOD(fixture,
                 "start_processes: the pids are those of the processes",
                 "[start_processes]") {
  auto group
    = start(shells({"echo $$ > " + here / "pid" + "; sleep 1000", "true"}));
  const auto pids = group->pids();
  REQUIRE(pids.size() == 2);
  CHECK(read_pid(here / "pid") == pids.at(0));
  group->close();
  CHECK(group->pids() == pids);
}

TEST_CASE_METHOD(fixture, "start_processes: a poll does not wait",
                 "[start_processes]") {
  auto group = start(shells({"sleep 1000"}));
  CHECK_FALSE(group->wait(0ms));
  CHECK_FALSE(group->wait(-1s));
  CHECK_FALSE(group->wait(10ms));
  group->close(SIGKILL);
  const auto first = group->wait(0ms);
  REQUIRE(first);
  CHECK(group->wait(0ms)->was_closed == first->was_closed);
}

TEST_CASE_METHOD(fixture,
                 "start_processes: two groups at the same time are independent",
                 "[start_processes]") {
  auto first = start(shells({"sleep 1000", "sleep 1000"}));
  auto second = start(shells({"exit 4"}));
  CHECK(failures_of(finish(*second)) == "0: code 4");
  CHECK_FALSE(first->wait(0ms));
  for (const auto& [rank, pid] : first->pids())
    CHECK(runs(pid));
  first->close();
  CHECK(finish(*first).was_closed);
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a group lives in the caller's "
                 "actor system, too",
                 "[start_processes]") {
  auto config = system_config{};
  caf::actor_system system{config};
  auto x = shells({"echo here"});
  x.system = &system;
  const auto result = run(std::move(x));
  CHECK(content_of(result.stdouts.at(0)) == "here\n");
}

// -- failed starts ------------------------------------------------------------

namespace {

failure refused(process_options options) {
  auto started = start_processes(std::move(options));
  REQUIRE_FALSE(started);
  CHECK_FALSE(has_children()); // Processes that had been started are gone.
  return started.error();
}

} // namespace

TEST_CASE_METHOD(fixture,
                 "start_processes: a program that is not there is "
                 "named with its rank and errno",
                 "[start_processes]") {
  auto x = shells({"sleep 1000", "sleep 1000"});
  x.entrypoint = here / "no-such-program";
  const auto why = refused(std::move(x));
  CHECK(why.code == errc::program_not_found);
  CHECK(why.text
        == "local rank 0 cannot be started: " + here / "no-such-program"
             + ": No such file or directory (ENOENT)");
}

TEST_CASE_METHOD(fixture,
                 "start_processes: a program that may not be executed "
                 "is named",
                 "[start_processes]") {
  std::ofstream{here / "script"} << "#!/bin/sh\n";
  auto x = shells({""});
  x.entrypoint = here / "script";
  const auto why = refused(std::move(x));
  CHECK(why.code == errc::program_not_executable);
  CHECK(why.text
        == "local rank 0 cannot be started: " + here / "script"
             + ": Permission denied (EACCES)");
}

TEST_CASE_METHOD(fixture,
                 "start_processes: an interpreter that is not there "
                 "is named",
                 "[start_processes]") {
  std::ofstream{here / "script"} << "#!/no/such/interpreter\n";
  ::chmod((here / "script").c_str(), 0755);
  auto x = shells({""});
  x.entrypoint = here / "script";
  const auto why = refused(std::move(x));
  CHECK(why.code == errc::program_not_found);
  CHECK(why.text.find("/no/such/interpreter") != why.text.npos);
}

TEST_CASE_METHOD(fixture,
                 "start_processes: when one cannot be started, no "
                 "other is left",
                 "[start_processes]") {
  // The PATH of each process counts: only one of them has `sh`.
  auto x = shells({"sleep 1000", "sleep 1000"});
  x.envs[1] = {{"PATH", here.path}};
  const auto why = refused(std::move(x));
  CHECK(why.code == errc::program_not_found);
  CHECK(why.text.starts_with("local rank 1 cannot be started: sh: "));
}

TEST_CASE_METHOD(fixture,
                 "start_processes: an error in the options is reported "
                 "before anything starts",
                 "[start_processes]") {
  auto x = shells({"touch " + here / "started", ""});
  x.envs.erase(1);
  const auto why = refused(std::move(x));
  CHECK(why.code == errc::bad_argument);
  CHECK(why.text
        == "envs: the local ranks do not match, expected: {0, 1}, actual: {0}");
  CHECK_FALSE(fs::exists(here / "started"));
  CHECK_FALSE(fs::exists(logs()));
}

} // namespace actorrun::test::start_processes_program_test
