// How a supervisor treats workers that overran a timer.
#include "tests/actors/worker_supervisor_fixture.hpp"
#include "tests/support/fake_stuck_probe.hpp"

#include <csignal>

namespace actorrun::test::worker_supervisor_overruns_test {

using namespace std::chrono_literals;

namespace {

struct worker_supervisor_overruns_fixture : supervisor_setting {
  void begin_with_probe() {
    auto x = config();
    x.probe = probe;
    begin(std::move(x));
    start(1);
  }

  void overrun(uint64_t generation, uint32_t local_rank, int signal = SIGKILL) {
    auto x = worker_overrun{};
    x.what.who.generation = {generation};
    x.what.who.local_rank = local_rank;
    x.what.pid = 100 + int64_t(local_rank);
    x.what.scope = "train_step";
    x.what.lateness = 1200ms;
    x.what.limit = 30s;
    x.what.signal = signal;
    send(agent.handle, uut, std::move(x));
  }

  std::shared_ptr<fake_stuck_probe> probe
    = std::make_shared<fake_stuck_probe>();
};

} // namespace

TEST_CASE_METHOD(worker_supervisor_overruns_fixture,
                 "worker_supervisor: a worker that overran a timer is killed "
                 "and has failed",
                 "[actors]") {
  begin(config());
  start(1);
  overrun(1, 1);
  CHECK(host->told() == "signal 1/1 9");
  host->exit(1, 1, 0, SIGKILL);
  run();
  CHECK(agent.told()
        == "failed 1: rank 5 (local rank 1, pid 101) on node-a was killed by "
           "its timer: scope \"train_step\" was not left within 30 s");
}

TEST_CASE_METHOD(
  worker_supervisor_overruns_fixture,
  "worker_supervisor: an overrun of another generation, or of no "
  "worker, is ignored",
  "[actors]") {
  begin(config());
  start(2);
  overrun(1, 1);
  overrun(3, 1);
  overrun(2, 2);
  CHECK(host->told().empty());
}

TEST_CASE_METHOD(worker_supervisor_overruns_fixture,
                 "worker_supervisor: an overdue worker is inspected before it "
                 "is killed",
                 "[actors]") {
  begin_with_probe();
  overrun(1, 1);
  CHECK(probe->told() == "look for 1 400 ms: 0/4/100 1/5/101");
  CHECK(host->told().empty());
  probe->answer(0, "rank 5 waits in futex");
  run();
  CHECK(host->told() == "signal 1/1 9");
}

TEST_CASE_METHOD(
  worker_supervisor_overruns_fixture,
  "worker_supervisor: a snapshot of an earlier generation changes nothing",
  "[actors]") {
  begin_with_probe();
  overrun(1, 1);
  order(core::kill_group{{1}});
  host->exit_all(1, 0, SIGKILL);
  run();
  start(2);
  overrun(2, 1);
  probe->answer(0, "of generation 1");
  run();
  CHECK(host->told().empty());
  probe->answer(1, "of generation 2");
  run();
  CHECK(host->told() == "signal 2/1 9");
}

// -- workers that cannot be killed --------------------------------------------

TEST_CASE_METHOD(worker_supervisor_overruns_fixture,
                 "worker_supervisor: a worker that outlives SIGKILL is given "
                 "up, and the agent learns where it hangs",
                 "[actors]") {
  begin_with_probe();
  order(core::kill_group{{1}});
  host->exit(1, 0, 0, SIGKILL);
  run();
  host->told();
  advance(29'999ms);
  CHECK(agent.told().empty());
  advance(1ms);
  CHECK(host->told() == "release 1");
  CHECK(probe->told() == "summarize 101");
  CHECK(agent.told()
        == "stopped 1, port 29501 +1 unkillable=1: uninterruptible in "
           "nfs_wait");
}

TEST_CASE_METHOD(worker_supervisor_overruns_fixture,
                 "worker_supervisor: the timeout after SIGKILL is the job's",
                 "[actors]") {
  auto x = config();
  x.workers.kill_timeout = 2s;
  begin(std::move(x));
  start(1);
  order(core::kill_group{{1}});
  advance(2s);
  CHECK(agent.told() == "stopped 1, port 29501 +2 unkillable=2: , ");
}

} // namespace actorrun::test::worker_supervisor_overruns_test
