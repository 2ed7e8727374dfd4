// Workers that live through changes: what they, the machine and the agent are told.
#include "tests/actors/worker_supervisor_fixture.hpp"
#include "tests/support/fake_blocking_tasks.hpp"
#include "tests/support/fake_worker_control.hpp"
#include "tests/support/log_lines.hpp"

#include <csignal>

namespace actorrun::test::worker_supervisor_live_test {

using namespace actorrun::core;

namespace {

struct live_setting : supervisor_setting {
  void say(uint32_t local_rank, int64_t pid, worker_word word) {
    control->say(local_rank, pid, std::move(word));
    run();
  }

  /// Workers 100 and 101 of generation 1 run; the first can live through a change.
  void start_live() {
    start(1);
    say(0, 100, said_hello{});
    REQUIRE(control->told() == "0 generation 1 RANK=4");
  }

  /// The first one is parked, the other one has ended.
  void park() {
    start_live();
    order(
      stop_group{.generation = {1}, .may_park = true, .reason = "b has left"});
    say(0, 100, said_parked{1});
    host->exit(1, 1, 0, SIGTERM);
    run();
    host->told();
    agent.told();
    control->told();
  }

  static generation_plan next() {
    auto x = plan(2);
    x.survivors = {{4, 4}};
    return x;
  }

  std::shared_ptr<fake_worker_control> control
    = std::make_shared<fake_worker_control>();
};

struct fixture : live_setting {
  fixture() {
    auto with = config();
    with.control = control;
    begin(std::move(with));
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "worker_supervisor: only its workers may speak",
                 "[actors]") {
  start(1);
  CHECK(control->admitted() == "0:100 1:101");
  say(0, 4711, said_hello{});
  say(7, 4712, said_hello{});
  CHECK(control->told().empty());
  host->exit(1, 1, 0);
  run();
  CHECK(control->admitted() == "0:100");
}

TEST_CASE_METHOD(fixture, "worker_supervisor: a live worker parks",
                 "[actors]") {
  start_live();
  order(
    stop_group{.generation = {1}, .may_park = true, .reason = "b has left"});
  CHECK(host->told() == "signal 1 15 but for 0");
  CHECK(control->told() == "0 regroup: b has left");
  say(0, 100, said_parked{9}); // Of another generation.
  CHECK(host->told().empty());
  say(0, 100, said_parked{1});
  CHECK(host->told() == "park 1/0");
  host->exit(1, 1, 0, SIGTERM);
  run();
  CHECK(host->told() == "release 1 but for 0");
  CHECK(agent.told().find("stopped 1, port") == 0);
}

TEST_CASE_METHOD(fixture,
                 "worker_supervisor: one that the fence has killed is "
                 "started anew",
                 "[actors]") {
  start_live();
  host->spare_none();
  order(
    stop_group{.generation = {1}, .may_park = true, .reason = "b has left"});
  say(0, 100, said_parked{1});
  host->exit(1, 1, 0, SIGTERM);
  run();
  CHECK(host->told() == "signal 1 15 but for 0; park 1/0");
  CHECK(agent.told().empty()); // Its end may take long.
  host->exit(1, 0, 0, SIGKILL);
  run();
  CHECK(host->told() == "release 1");
  CHECK(agent.told() == "stopped 1, port 29501");
  order(fenced_start{plan(2), {}});
  CHECK(host->told() == "start 2");
  CHECK(host->process_count(2) == 2);
}

TEST_CASE_METHOD(fixture,
                 "worker_supervisor: the next generation is for both, and its "
                 "reason is that of all nodes (P13)",
                 "[actors]") {
  park();
  order(fenced_start{next(), {5}, "rank 7 failed"});
  CHECK(host->told() == "release 1 but for 0; resume 1/0; start 2");
  CHECK(host->decided() == 5);
  CHECK(host->process_count(2) == 1);
  CHECK(host->process(2, 0).local_rank == 1); // The only one of the batch.
  CHECK(control->told() == "0 generation 2 RANK=4 4-4, rank 7 failed");
  host->start_all(2, 200);
  run();
  CHECK(agent.told() == "started 2: 100 201");
  SECTION("whose end it sees") {
    host->exit(1, 0, 0);
    host->exit(2, 1, 0);
    run();
    CHECK(agent.told() == "succeeded 2");
    CHECK(host->told() == "release 1; release 2");
  }
  SECTION("and whose failure") {
    host->exit(1, 0, 3);
    run();
    CHECK(agent.told().find("failed 2: rank 4 (local rank 0, pid 100)") == 0);
  }
  SECTION("who get signals") {
    order(stop_group{.generation = {2}});
    CHECK(host->told() == "signal 2 15; signal 1/0 15");
    CHECK(control->told() == "0 stop");
  }
  SECTION("who get notice") {
    order(notify_group{SIGUSR1});
    CHECK(host->told() == "notify 1 10; notify 2 10");
  }
}

TEST_CASE_METHOD(fixture, "worker_supervisor: one that ends parked is replaced",
                 "[actors]") {
  park();
  host->exit(1, 0, 3);
  run();
  CHECK(agent.told() == "of 1 left");
  order(fenced_start{plan(2), {}});
  CHECK(host->told() == "release 1; start 2");
  CHECK(host->process_count(2) == 2);
}

TEST_CASE_METHOD(
  live_setting,
  "worker_supervisor: one that ends while files are made for the "
  "next generation is replaced",
  "[actors]") {
  const auto files = std::make_shared<fake_blocking_tasks>();
  auto with = config();
  with.control = control;
  with.layout = std::make_shared<fake_log_layout>();
  with.files = files;
  begin(std::move(with));
  park();
  files->hang();
  order(fenced_start{plan(2), {}});
  host->exit(1, 0, 0);
  run();
  files->recover();
  run();
  CHECK(host->process_count(2) == 2);
  agent.told();
  host->start_all(2, 200);
  run();
  CHECK(agent.told() == "started 2: 200 201");
}

TEST_CASE_METHOD(fixture,
                 "worker_supervisor: parked workers are stopped for good",
                 "[actors]") {
  park();
  order(stop_group{.generation = {1}});
  CHECK(control->told() == "0 stop");
  CHECK(host->told() == "signal 1/0 15");
  host->exit(1, 0, 0, SIGTERM);
  run();
  CHECK(host->told() == "release 1");
  CHECK(agent.told().find("stopped 1, port") == 0);
}

TEST_CASE_METHOD(fixture,
                 "worker_supervisor: one that hangs up parked is killed",
                 "[actors]") {
  park();
  say(0, 100, hung_up{});
  CHECK(host->told() == "signal 1/0 9");
}

TEST_CASE_METHOD(fixture, "worker_supervisor: live workers come to one step",
                 "[actors]") {
  start_live();
  host->exit(1, 1, 0); // The other one has done its work.
  run();
  agent.told();
  const auto order_steps = [this](safe_point_order x) {
    order(order_safe_point{{1}, x});
  };
  using kind = safe_point_order::kind;
  say(0, 100, said_step{3});
  CHECK(agent.told() == "stepping of 1");
  order_steps({kind::hold});
  CHECK(control->told() == "0 hold");
  say(0, 100, said_held{9, 4}); // Of another generation.
  CHECK(agent.told().empty());
  say(0, 100, said_held{1, 4});
  CHECK(agent.told() == "held 4 of 1");
  order_steps({kind::stop_at, 6});
  CHECK(control->told() == "0 stop_at 6");
  say(0, 100, said_reached{9, 6});
  CHECK(agent.told().empty());
  say(0, 100, said_reached{1, 6});
  CHECK(agent.told() == "reached 6 of 1");
  order_steps({kind::go_on});
  CHECK(control->told() == "0 go_on");
  order(order_safe_point{{2}, {kind::hold}});
  CHECK(control->told().empty());
}

namespace {

/// Both workers of this node are started while other nodes run generation 3.
struct ahead_fixture : fixture {
  ahead_fixture() {
    auto ahead = generation_plan{};
    ahead.generation = {3};
    ahead.own.agent = {"a"};
    ahead.own.slot_count = 2;
    ahead.restart_count = 1;
    ahead.is_ahead = true;
    order(fenced_start{ahead, {4}});
    CHECK(host->told() == "start 3");
    CHECK(host->has(3, 0, "ACTORRUN_AHEAD=1"));
    CHECK(host->has(3, 1, "LOCAL_RANK=1"));
    CHECK_FALSE(host->has(3, 0, "RANK=77"));
    host->start_all(3, 100);
    run();
    say(0, 100, said_hello{});
    CHECK(control->told().empty()); // There is no generation yet.
  }
};

} // namespace

TEST_CASE_METHOD(
  ahead_fixture,
  "worker_supervisor: T3 workers that start ahead park, and go on "
  "with their first generation",
  "[actors]") {
  say(0, 100, said_parked{3}); // It has had none.
  CHECK(host->told().empty());
  say(0, 100, said_parked{0});
  CHECK(host->told() == "park 3/0");
  CHECK(agent.told().empty());
  say(1, 101, said_hello{});
  say(1, 101, said_parked{0});
  CHECK(host->told() == "park 3/1; release 3 but for 0,1");
  CHECK(agent.told() == "stopped 3, port 0, parked 0 1");
  order(fenced_start{plan(4), {5}, "1 more joined"});
  CHECK(host->told() == "release 3 but for 0,1; resume 3/0; resume 3/1");
  CHECK(host->decided() == 5);
  CHECK(control->told().find("0 generation 4 RANK=4") == 0);
  CHECK(agent.told() == "started 4: 100 101");
}

TEST_CASE_METHOD(
  ahead_fixture,
  "worker_supervisor: T3 one that ends ahead is started with the "
  "generation",
  "[actors]") {
  say(0, 100, said_parked{0});
  host->told();
  host->exit(3, 1, 1);
  run();
  CHECK(host->told() == "release 3 but for 0");
  CHECK(agent.told() == "stopped 3, port 0, parked 0");
  order(fenced_start{plan(4), {5}});
  CHECK(host->told() == "release 3 but for 0; resume 3/0; start 4");
  CHECK(host->process_count(4) == 1);
}

namespace {

/// Workers 100 and 101 of generation 1 are live, and so is spare 102.
struct spare_fixture : live_setting {
  spare_fixture() {
    auto with = config();
    with.workers.command = {"train"};
    with.workers.spare_count = 1;
    with.control = control;
    begin(std::move(with));
    start(1);
    say(0, 100, said_hello{});
    CHECK(host->told().empty());
    say(1, 101, said_hello{});
    CHECK(host->told() == "start 1");
    REQUIRE(host->process_count(1) == 1); // Of the second call.
    CHECK(host->process(1, 0).local_rank == 2);
    CHECK(host->has(1, 0, "ACTORRUN_AHEAD=1"));
    for (const auto& line : host->process(1, 0).environment)
      CHECK_FALSE(line.starts_with("LOCAL_RANK="));
    control->told();
    host->start_all(1, 100);
    run();
    CHECK(agent.told().empty());
    CHECK(control->admitted() == "0:100 1:101 2:102");
    say(2, 102, said_hello{});
    CHECK(control->told().empty()); // It has no generation.
    say(2, 102, said_parked{1});
    CHECK(host->told().empty());
    say(2, 102, said_parked{0});
    REQUIRE(host->told() == "park 1/2");
  }

  /// It has taken the place of worker 1 in generation 2.
  void take_place() {
    host->exit(1, 1, 3);
    run();
    order(
      stop_group{.generation = {1}, .may_park = true, .reason = "1 failed"});
    CHECK(host->told() == "signal 1 15 but for 0,1,2");
    say(0, 100, said_parked{1});
    CHECK(host->told() == "park 1/0; release 1 but for 0,2");
    agent.told();
    control->told();
    order(fenced_start{next(), {5}, "rank 5 failed"});
    CHECK(control->admitted() == "0:100 1:102");
    CHECK(host->told()
          == "release 1 but for 0,2; resume 1/0; resume 1/2; start 2");
    CHECK(control->told()
          == "0 generation 2 RANK=4 4-4, rank 5 failed; 1 generation 2 RANK=5 "
             "4-4, rank 5 failed");
    CHECK(agent.told() == "started 2: 100 102");
  }
};

} // namespace

TEST_CASE_METHOD(spare_fixture,
                 "worker_supervisor: T3 a spare takes the place of a worker "
                 "that has failed",
                 "[actors]") {
  take_place();
  SECTION("its words from before count as those of the worker") {
    say(2, 102, hung_up{});
    say(0, 100, said_step{1});
    CHECK(agent.told() == "stepping of 2");
    order(stop_group{.generation = {2}, .may_park = true, .reason = "again"});
    CHECK(control->told() == "0 regroup: again");
  }
  SECTION("its end is that of the worker") {
    host->exit(1, 2, 4);
    run();
    CHECK(agent.told().find("failed 2: rank 5 (local rank 1, pid 102)") == 0);
  }
  SECTION("the next spare has a number of its own") {
    host->start_all(2, 200);
    run();
    CHECK(control->admitted() == "0:100 1:102 2:202");
    say(2, 202, said_hello{});
    say(2, 202, said_parked{0});
    CHECK(host->told() == "park 2/2");
    order(stop_group{.generation = {2}});
    CHECK(host->told() == "signal 2 15; signal 1/0 15; signal 1/2 15");
  }
}

TEST_CASE_METHOD(spare_fixture,
                 "worker_supervisor: T3 the end of a spare is no failure",
                 "[actors]") {
  host->exit(1, 2, 1);
  run();
  CHECK(agent.told().empty());
  CHECK(control->admitted() == "0:100 1:101");
}

TEST_CASE_METHOD(live_setting,
                 "worker_supervisor: T3 it says that there were no spares",
                 "[actors]") {
  auto with = config();
  with.workers.command = {"train"};
  with.workers.spare_count = 1;
  with.control = control;
  auto lines = log_lines{};
  with.lines = lines.writer();
  begin(std::move(with));
  start_live(); // The other one is not.
  host->exit_all(1, 0);
  run();
  CHECK(agent.told() == "succeeded 1");
  CHECK(host->told() == "release 1");
  CHECK(lines.told().find("there were no spare workers") != std::string::npos);
}

} // namespace actorrun::test::worker_supervisor_live_test
