#include "tests/actors/worker_supervisor_fixture.hpp"
#include "tests/support/log_lines.hpp"

#include <cerrno>
#include <csignal>

namespace actorrun::test::worker_supervisor_test {

TEST_CASE_METHOD(supervisor_fixture,
                 "worker_supervisor: it starts a worker in every slot",
                 "[actors]") {
  order(fenced_start{plan(7), {}});
  CHECK(host->told() == "start 7");
  REQUIRE(host->process_count(7) == 2);
  for (uint32_t i = 0; i < 2; ++i)
    CHECK(host->process(7, i).local_rank == i);
  CHECK(agent.told().empty());
  host->start_all(7, 100);
  run();
  CHECK(agent.told() == "started 7: 100 101");
}

TEST_CASE_METHOD(supervisor_fixture,
                 "worker_supervisor: each worker gets its own environment",
                 "[actors]") {
  order(fenced_start{plan(7), {}});
  CHECK(host->process(7, 1).arguments
        == std::vector<std::string>{"train", "--device=1"});
  for (const auto* line :
       {"RANK=5", "LOCAL_RANK=1", "WORLD_SIZE=6", "LOCAL_WORLD_SIZE=2",
        "GROUP_RANK=1", "GROUP_WORLD_SIZE=2", "ROLE_NAME=trainer",
        "MASTER_ADDR=10.0.0.1", "MASTER_PORT=29500",
        "TORCHELASTIC_RESTART_COUNT=1", "TORCHELASTIC_MAX_RESTARTS=3",
        "TORCHELASTIC_RUN_ID=job-1", "ACTORRUN_GENERATION=7", "HOME=/home/u"})
    CHECK((host->has(7, 1, line) ? line : "missing") == std::string{line});
  CHECK(host->has(7, 0, "RANK=4"));
  CHECK_FALSE(host->has(7, 0, "RANK=77"));
}

TEST_CASE_METHOD(
  supervisor_fixture,
  "worker_supervisor: all workers that exit with 0 are a success", "[actors]") {
  start(1);
  host->exit(1, 1, 0);
  run();
  CHECK(host->told().empty());
  CHECK(agent.told().empty());
  host->exit(1, 0, 0);
  run();
  CHECK(host->told() == "release 1");
  CHECK(agent.told() == "succeeded 1");
}

TEST_CASE_METHOD(supervisor_fixture,
                 "worker_supervisor: a failure is reported once", "[actors]") {
  start(1);
  report(1, {ports::process_exited{{1}, 1, 101, 7, 0, false},
             ports::process_exited{{1}, 0, 100, 0, SIGABRT, true}});
  CHECK(agent.told()
        == "failed 1: rank 5 (local rank 1, pid 101) on node-a exited with "
           "code 7");
  CHECK(host->told().empty()); // The agent decides what follows.
  order(core::stop_group{{1}, 0});
  CHECK(host->told() == "signal 1 15; release 1");
  CHECK(agent.told() == "stopped 1, port 29501 +1");
}

TEST_CASE_METHOD(supervisor_fixture,
                 "worker_supervisor: a program that is not there is a failure",
                 "[actors]") {
  order(fenced_start{plan(1), {}});
  host->told();
  report(1, {ports::process_not_started{{1}, 0, ENOENT},
             ports::process_not_started{{1}, 1, ENOENT}});
  CHECK(agent.told()
        == "failed 1: rank 4 (local rank 0) on node-a could not be started: "
           "No such file or directory");
  order(core::stop_group{{1}, 0});
  CHECK(host->told() == "signal 1 15; release 1");
  CHECK(agent.told() == "stopped 1, port 29501 +1");
}

TEST_CASE_METHOD(supervisor_fixture,
                 "worker_supervisor: a worker that does not stop is killed "
                 "after the grace period",
                 "[actors]") {
  start(1);
  order(core::stop_group{{1}, SIGINT});
  CHECK(host->told() == "signal 1 2");
  advance(29'999ms);
  CHECK(host->told().empty());
  advance(1ms);
  CHECK(host->told() == "signal 1 9");
  CHECK(agent.told().empty());
  host->exit_all(1, 0, SIGKILL);
  run();
  CHECK(host->told() == "release 1");
  CHECK(agent.told() == "stopped 1, port 29501");
}

TEST_CASE_METHOD(supervisor_fixture,
                 "worker_supervisor: a worker that stops in time is not killed",
                 "[actors]") {
  start(1);
  order(core::stop_group{{1}, 0});
  advance(10s);
  host->exit_all(1, 143);
  run();
  CHECK(host->told() == "signal 1 15; release 1");
  CHECK(agent.told() == "stopped 1, port 29501");
  advance(60s);
  CHECK(host->told().empty());
}

TEST_CASE_METHOD(
  supervisor_fixture,
  "worker_supervisor: the grace of one generation does not end in the "
  "next",
  "[actors]") {
  start(1);
  order(core::stop_group{{1}, 0});
  advance(20s);
  host->exit_all(1, 143);
  run();
  start(2);
  order(core::stop_group{{2}, 0});
  CHECK(host->told() == "signal 2 15");
  advance(10s); // Now the grace period of generation 1 would be over.
  CHECK(host->told().empty());
  advance(20s);
  CHECK(host->told() == "signal 2 9");
}

TEST_CASE_METHOD(supervisor_fixture,
                 "worker_supervisor: an order to kill has no grace period",
                 "[actors]") {
  start(1);
  order(core::kill_group{{1}});
  CHECK(host->told() == "signal 1 9");
  host->exit_all(1, 0, SIGKILL);
  run();
  CHECK(host->told() == "release 1");
  CHECK(agent.told() == "stopped 1, port 29501");
}

TEST_CASE_METHOD(supervisor_fixture,
                 "worker_supervisor: an order to kill ends the grace period",
                 "[actors]") {
  start(1);
  order(core::stop_group{{1}, 0});
  order(core::kill_group{{1}});
  CHECK(host->told() == "signal 1 15; signal 1 9");
  host->exit_all(1, 0, SIGKILL);
  run();
  CHECK(host->told() == "release 1");
  advance(60s);
  CHECK(host->told().empty());
}

TEST_CASE_METHOD(supervisor_fixture,
                 "worker_supervisor: orders for another generation are ignored",
                 "[actors]") {
  order(core::stop_group{{1}, 0}); // There is no group at all.
  order(core::kill_group{{1}});
  start(2);
  order(core::stop_group{{1}, 0});
  order(core::kill_group{{1}});
  order(core::stop_group{{3}, 0});
  order(core::kill_group{{3}});
  CHECK(host->told().empty());
  CHECK(agent.told().empty());
}

TEST_CASE_METHOD(
  supervisor_fixture,
  "worker_supervisor: reports on an older generation are ignored", "[actors]") {
  start(1);
  order(core::kill_group{{1}});
  host->exit_all(1, 0, SIGKILL);
  run();
  start(2);
  report(1, {ports::process_exited{{1}, 0, 100, 7, 0, false},
             ports::process_exited{{1}, 1, 101, 7, 0, false}});
  CHECK(agent.told().empty());
  host->exit_all(2, 0);
  run();
  CHECK(agent.told() == "succeeded 2");
}

TEST_CASE_METHOD(supervisor_fixture,
                 "worker_supervisor: a start bears when it was decided",
                 "[actors]") {
  order(fenced_start{plan(7), {5}});
  CHECK(host->decided() == 5);
}

TEST_CASE_METHOD(supervisor_fixture,
                 "worker_supervisor: its end is the end of its workers",
                 "[actors]") {
  start(3);
  end(uut);
  CHECK(host->told() == "signal 3 9");
  host->exit_all(3, 0, SIGKILL); // No supervisor is left to listen.
  run();
  CHECK(agent.told().empty());
}

TEST_CASE_METHOD(supervisor_setting,
                 "worker_supervisor: a stop that lasts is explained",
                 "[actors]") {
  const auto lines = log_lines{};
  auto with = config();
  with.lines = lines.writer();
  begin(with);
  const auto end = [this](uint64_t generation, uint32_t local_rank) {
    report(
      generation,
      {ports::process_exited{
        {generation}, local_rank, pid_t(100 + local_rank), 0, SIGTERM, false}});
  };
  start(1);
  order(core::stop_group{{1}, SIGTERM});
  end(1, 0);
  advance(5s - 1ms);
  CHECK(lines.told() == "");
  advance(1ms);
  CHECK(lines.told()
        == "info waits for a worker to end (pid 101), and kills what is left"
           " in 25.0 s\n");
  end(1, 1);
  start(2); // It ends at once.
  order(core::stop_group{{2}, SIGTERM});
  end(2, 0);
  end(2, 1);
  advance(1min);
  CHECK(lines.told() == "");
  start(3); // It has no time left.
  order(core::stop_group{{3}, SIGTERM});
  order(core::kill_group{.generation = {3}});
  advance(6s);
  CHECK(lines.told() == "");
}

} // namespace actorrun::test::worker_supervisor_test
