// Signals to a single worker.
#include "tests/runtime/processes/process_host_fixture.hpp"

namespace actorrun::test::process_host_signals_test {

using namespace actorrun::detail;
using namespace actorrun::detail::process_host_test;

TEST_CASE_METHOD(fixture, "posix_process_host: one worker is killed alone",
                 "[runtime]") {
  start({worker(0, {"sleep", "1000"}), worker(1, {"sleep", "1000"})});
  REQUIRE(wait_for_events(2));
  uut->signal_one(generation, 1, SIGKILL);
  REQUIRE(wait_for_events(3));
  CHECK(trace() == "started 0; started 1; exited 1: signal 9");
  CHECK(runs(pid_of(0)));
}

TEST_CASE_METHOD(fixture,
                 "posix_process_host: a stopped worker can be killed, too",
                 "[runtime]") {
  start({worker(0, {"sleep", "1000"})});
  REQUIRE(wait_for_events(1));
  const auto pid = pid_of(0);
  ::kill(pid, SIGSTOP);
  REQUIRE(soon([&] { return state_of(pid) == 'T'; }));
  uut->signal_one(generation, 0, SIGTERM);
  REQUIRE(wait_for_events(2));
  CHECK(trace() == "started 0; exited 0: signal 15");
}

TEST_CASE_METHOD(fixture,
                 "posix_process_host: child processes of a worker die with it",
                 "[runtime]") {
  const auto files = folder{};
  start({shell(0, tell_pid(files / "pid") + "wait")});
  REQUIRE(wait_for_events(1));
  const auto child = read_pid(files / "pid");
  REQUIRE(child > 0);
  uut->signal_one(generation, 0, SIGKILL);
  CHECK(soon([&] { return !runs(child); }));
}

TEST_CASE_METHOD(fixture,
                 "posix_process_host: a signal to no worker changes nothing",
                 "[runtime]") {
  start({worker(0, {"sleep", "1000"})});
  REQUIRE(wait_for_events(1));
  uut->signal_one(generation, 1, SIGKILL);
  uut->signal_one({7}, 0, SIGKILL);
  on_thread([] {}); // Both have been carried out.
  CHECK(runs(pid_of(0)));
}

} // namespace actorrun::test::process_host_signals_test
