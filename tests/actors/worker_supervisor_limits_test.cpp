// A worker supervisor on a machine that lacks something, or whose workers need what
// they have started until they end.
#include "tests/actors/worker_supervisor_fixture.hpp"
#include "tests/support/log_lines.hpp"

#include <cerrno>
#include <csignal>

namespace actorrun::test::worker_supervisor_limits_test {

using namespace std::chrono_literals;

TEST_CASE_METHOD(
  supervisor_setting,
  "worker_supervisor: S5 it tries again what could not be started, "
  "and says why once",
  "[actors]") {
  auto lines = log_lines{};
  auto with = config();
  with.lines = lines.writer();
  begin(with);
  order(fenced_start{plan(1), {}});
  CHECK(host->told() == "start 1");
  const auto subject = std::string{"train (RLIMIT_NPROC: ulimit -u is 10)"};
  const auto lacks = ports::process_not_started{{1}, 1, EAGAIN, subject, {}};
  report(1, {ports::process_started{{1}, 0, 100}, lacks});
  CHECK(lines.told()
        == "warning worker supervisor cannot start local rank 1: train "
           "(RLIMIT_NPROC: ulimit -u is 10): Resource temporarily unavailable; "
           "it tries again for 30.0 s, which costs no restart\n");
  advance(99ms);
  CHECK(host->told().empty());
  advance(1ms);
  CHECK(host->told() == "start 1");
  report(1, {lacks});
  CHECK(lines.told().empty());
  advance(200ms);
  CHECK(host->told() == "start 1");
  CHECK(agent.told().empty());
  report(1, {ports::process_started{{1}, 1, 101}});
  CHECK(agent.told() == "started 1: 100 101");
}

TEST_CASE_METHOD(
  supervisor_setting,
  "worker_supervisor: T4 the stop signal goes to the workers alone, "
  "SIGKILL to all",
  "[actors]") {
  auto with = config();
  with.workers.stops_children = false;
  begin(with);
  start(1);
  order(core::stop_group{{1}, 0, 2s});
  CHECK(host->told() == "signal 1 15 alone");
  advance(2s);
  CHECK(host->told() == "signal 1 9");
}

} // namespace actorrun::test::worker_supervisor_limits_test
