// How a supervisor goes on while the file system of its logs does not answer.
#include "tests/actors/worker_supervisor_fixture.hpp"
#include "tests/support/fake_blocking_tasks.hpp"
#include "tests/support/log_lines.hpp"

#include <csignal>

namespace actorrun::test::worker_supervisor_hangs_test {

namespace {

struct hangs_fixture : supervisor_setting {
  explicit hangs_fixture(std::chrono::milliseconds kill_timeout = 30s) {
    auto with = supervisor_setting::config();
    with.lines = lines.writer();
    with.layout = layout;
    with.evidence = evidence;
    with.files = files;
    with.workers.start_timeout = 60s;
    with.workers.kill_timeout = kill_timeout;
    begin(std::move(with));
  }

  ports::process_exited exited(uint32_t local_rank, int code) {
    auto x = ports::process_exited{};
    x.generation = {1};
    x.local_rank = local_rank;
    x.exit_code = code;
    x.when = system.clock().now() - 1ns;
    return x;
  }

  log_lines lines;
  std::shared_ptr<fake_blocking_tasks> files
    = std::make_shared<fake_blocking_tasks>();
  std::shared_ptr<fake_log_layout> layout = std::make_shared<fake_log_layout>();
  std::shared_ptr<fake_failure_evidence> evidence
    = std::make_shared<fake_failure_evidence>();
};

constexpr auto failure_of_rank_5
  = "failed 1: rank 5 (local rank 1, pid 101) on "
    "node-a exited with code 7";

} // namespace

TEST_CASE_METHOD(
  hangs_fixture,
  "worker_supervisor: a start waits for its folders, and nothing "
  "else does",
  "[actors]") {
  files->hang();
  order(fenced_start{plan(1), {}});
  CHECK(host->told().empty());
  order(core::check_control{core::time_point{1s}});
  CHECK(agent.told() == "control checked 1000 ms");
  files->recover();
  run();
  CHECK(host->told() == "start 1");
}

TEST_CASE_METHOD(hangs_fixture,
                 "worker_supervisor: a start that waits for folders can be "
                 "stopped",
                 "[actors]") {
  for (const auto kills : {false, true}) {
    auto x = hangs_fixture{};
    x.files->hang();
    x.order(fenced_start{plan(1), {}});
    if (kills)
      x.order(core::kill_group{{1}});
    else
      x.order(core::stop_group{{1}, 0});
    CHECK(x.agent.told() == "stopped 1, port 29501");
    x.order(fenced_start{plan(2), {}});
    x.files->recover();
    x.run();
    // The folders of the first generation come too late.
    CHECK(x.host->told() == "release 1; start 2");
  }
}

TEST_CASE_METHOD(hangs_fixture,
                 "worker_supervisor: folders that do not come are a failure",
                 "[actors]") {
  files->hang();
  order(fenced_start{plan(1), {}});
  advance(59s);
  CHECK(agent.told().empty());
  advance(1s);
  CHECK(agent.told()
        == "failed 1: rank 4 (local rank 0) on node-a could not be started: "
           "its log folders were not made within 60 s; a file system may hang");
  files->recover();
  run();
  CHECK(host->told().empty());
}

TEST_CASE_METHOD(hangs_fixture,
                 "worker_supervisor: a death waits only briefly for its "
                 "examination",
                 "[actors]") {
  start(1);
  files->hang();
  report(1, {exited(1, 7), exited(0, 8)});
  advance(499ms);
  CHECK(agent.told().empty());
  // It is not lost that there may be more to know.
  advance(1ms);
  CHECK(
    agent.told()
    == std::string{failure_of_rank_5}
         + ": its log files did not answer, so its last lines are not known");
  CHECK(lines.told().starts_with("warning worker supervisor reports failures "
                                 "of generation 1 without their last "
                                 "lines: the log files do not answer\n"));
  // The second death was not examined any more.
  CHECK(files->waiting_count() == 1);
  order(core::stop_group{{1}, 0});
  CHECK(agent.told() == "stopped 1, port 29501 +1");
  files->recover(); // Too late.
  run();
  CHECK(agent.told().empty());
}

TEST_CASE_METHOD(hangs_fixture,
                 "worker_supervisor: the end of a group waits only briefly for"
                 " the error files of stopped workers, however many they are",
                 "[actors]") {
  constexpr auto count = uint32_t{9};
  auto wide = plan(1);
  wide.own.slot_count = count;
  wide.own.role_world_size = count + 4;
  wide.world_size = count + 4;
  order(fenced_start{wide, {}});
  host->start_all(1, 100);
  run();
  report(1, {exited(0, 7)});
  order(core::stop_group{{1}, 0});
  agent.told();
  files->hang();
  auto deaths = std::vector<ports::process_event>{};
  for (auto rank = uint32_t{1}; rank < count; ++rank) {
    deaths.emplace_back(exited(rank, 1));
    std::get<ports::process_exited>(deaths.back()).when
      = system.clock().now() + 1ns;
  }
  evidence->calls.told();
  report(1, deaths);
  // Each is slow, and none so slow that it would be given up.
  for (auto i = 0; i < 3; ++i) {
    advance(200ms);
    CHECK(agent.told().empty());
    CHECK(files->waiting_count() == 1);
    files->recover();
    files->hang();
    run();
  }
  CHECK(files->waiting_count() == 0);
  CHECK(agent.told() == "stopped 1, port 29501");
}

TEST_CASE_METHOD(hangs_fixture,
                 "worker_supervisor: an order to stop waits for no examination",
                 "[actors]") {
  start(1);
  files->hang();
  advance(10ms);
  report(1, {exited(1, 7)});
  order(core::stop_group{{1}, 0});
  CHECK(host->told() == "signal 1 15");
  report(1, {exited(0, 0)});
  files->recover();
  run();
  CHECK(agent.told() == "stopped 1, port 29501 +1");
}

TEST_CASE_METHOD(hangs_fixture,
                 "worker_supervisor: it proves that it can end workers only if "
                 "their host answers",
                 "[actors]") {
  order(core::check_control{core::time_point{1s}});
  CHECK(agent.told() == "control checked 1000 ms");
  host->hang();
  order(core::check_control{core::time_point{2s}});
  CHECK(agent.told().empty());
  host->recover();
  run();
  CHECK(agent.told() == "control checked 2000 ms");
}

TEST_CASE("worker_supervisor: a worker whose death waits for its files is not "
          "given up",
          "[actors]") {
  auto x = hangs_fixture{100ms};
  x.start(1);
  x.files->hang();
  x.advance(10ms);
  x.report(1, {x.exited(1, 7)});
  x.order(core::kill_group{{1}});
  x.report(1, {x.exited(0, 0)});
  CHECK(x.agent.told().empty());
  x.advance(100ms);
  CHECK(x.agent.told() == "stopped 1, port 29501 +1");
  x.files->recover(); // Too late.
  x.run();
  CHECK(x.agent.told().empty());
}

} // namespace actorrun::test::worker_supervisor_hangs_test
