// Where a supervisor lets its workers write, how it treats their last lines,
// and what it waits for before it reports a death.

#include "tests/actors/worker_supervisor_fixture.hpp"
#include "tests/support/log_lines.hpp"

#include <cerrno>
#include <csignal>

namespace actorrun::test::worker_supervisor_outputs_test {

using kind = core::stream_target::kind;

namespace {

/// With logs, evidence and a tailer.
struct logs_setting : supervisor_setting {
  logs_setting() { keep(tailer.handle); }

  worker_supervisor_config config() const {
    auto out = supervisor_setting::config();
    out.lines = lines.writer();
    out.layout = layout;
    out.evidence = evidence;
    out.tailer = tailer.handle;
    return out;
  }

  /// Both workers of generation 1 run; their standard output is shown.
  void start_shown() {
    layout->shows_out = true;
    start(1);
    tailer.told();
    evidence->calls.told();
  }

  core::time_point clock() { return system.clock().now(); }

  static ports::process_exited exited(uint32_t local_rank, int code,
                                      core::time_point when = {}) {
    auto x = ports::process_exited{};
    x.generation = {1};
    x.local_rank = local_rank;
    x.pid = 100 + pid_t(local_rank);
    x.exit_code = code;
    x.when = when;
    return x;
  }

  std::shared_ptr<fake_log_layout> layout = std::make_shared<fake_log_layout>();
  std::shared_ptr<fake_failure_evidence> evidence
    = std::make_shared<fake_failure_evidence>();
  log_lines lines;
  fake_log_tailer tailer = make_fake_log_tailer(system);
};

struct logs_fixture : logs_setting {
  logs_fixture() { begin(config()); }
};

constexpr auto failure_of_1 = "failed 1: rank 5 (local rank 1, pid 101) on "
                              "node-a exited with code 7";

} // namespace

// -- where workers write ------------------------------------------------------

TEST_CASE_METHOD(supervisor_fixture,
                 "worker_supervisor: without logs all stays on the console",
                 "[actors]") {
  order(fenced_start{plan(1), {}});
  CHECK(host->process(1, 1).out == core::stream_target{});
  CHECK(host->process(1, 1).err == core::stream_target{});
  CHECK(host->has(1, 1, "TORCHELASTIC_ERROR_FILE="));
  CHECK(host->has(
    1, 1, "TORCHELASTIC_SIGNALS_TO_HANDLE=SIGTERM,SIGINT,SIGHUP,SIGQUIT"));
}

TEST_CASE_METHOD(logs_fixture,
                 "worker_supervisor: each worker writes where the layout says",
                 "[actors]") {
  layout->shows_err = true;
  order(fenced_start{plan(1), {}});
  CHECK(layout->calls.told() == "prepare 1");
  CHECK(evidence->calls.told() == "begin");
  for (uint32_t i = 0; i < 2; ++i) {
    const auto base = "/logs/1/" + std::to_string(i);
    const auto& process = host->process(1, i);
    CHECK(process.out == core::stream_target{kind::file, base + "/out", false});
    CHECK(process.err == core::stream_target{kind::file, base + "/err", true});
    CHECK(host->has(1, i, "TORCHELASTIC_ERROR_FILE=" + base + "/error.json"));
  }
}

TEST_CASE_METHOD(
  logs_fixture,
  "worker_supervisor: the tailer knows a generation from its start "
  "to its end",
  "[actors]") {
  order(fenced_start{plan(1), {}});
  CHECK(tailer.told() == "follow 1");
  CHECK(tailer.followed->workers.at(1).out == host->process(1, 1).out);
  host->start_all(1, 100);
  host->exit_all(1, 0);
  run();
  CHECK(tailer.told() == "close 1");
  order(fenced_start{plan(2), {}});
  CHECK(tailer.told() == "follow 2");
}

// -- when files cannot be made ------------------------------------------------

TEST_CASE_METHOD(logs_fixture,
                 "worker_supervisor: no worker starts where logs were never "
                 "possible",
                 "[actors]") {
  layout->why_not = "cannot make /logs/1: Permission denied";
  order(fenced_start{plan(1), {}});
  CHECK(host->told().empty());
  CHECK(tailer.told().empty());
  CHECK(agent.told()
        == "failed 1: rank 4 (local rank 0) on node-a could not be started: "
           "cannot make /logs/1: Permission denied");
  order(core::stop_group{{1}, 0});
  // The worker that was not started is no failure.
  CHECK(agent.told() == "stopped 1, port 29501");
  CHECK(tailer.told().empty());
  order(fenced_start{plan(2), {}}); // As long as no logs were possible.
  CHECK(agent.told().starts_with("failed 2: "));
}

TEST_CASE_METHOD(logs_fixture,
                 "worker_supervisor: a job that had logs continues without",
                 "[actors]") {
  layout->shows_err = true;
  start(1);
  host->exit_all(1, 0);
  run();
  layout->why_not = "no space left";
  start(2);
  for (uint32_t i = 0; i < 2; ++i) {
    // What was only filed is lost, what was also shown still is shown.
    CHECK(host->process(2, i).out.where == kind::discarded);
    CHECK(host->process(2, i).err == core::stream_target{});
    CHECK(host->has(2, i, "TORCHELASTIC_ERROR_FILE="));
  }
  CHECK(
    lines.told()
    == "warning worker supervisor starts generation 2 without log files: no "
       "space left; redirected output is lost, teed output has no "
       "labels\n");
  host->exit_all(2, 0);
  run();
  start(3); // Logged only once.
  CHECK(host->process(3, 0).out.where == kind::discarded);
  CHECK(lines.told().empty());
  host->exit_all(3, 0);
  run();
  layout->why_not.reset();
  start(4);
  CHECK(host->process(4, 0).out.path == "/logs/4/0/out");
  host->exit_all(4, 0);
  run();
  layout->why_not = "again";
  start(5);
  CHECK(lines.told().starts_with("warning worker supervisor starts generation "
                                 "5 without log files: again; "));
}

// -- last lines ---------------------------------------------------------------

TEST_CASE_METHOD(logs_fixture,
                 "worker_supervisor: a death is reported when its last lines "
                 "are shown",
                 "[actors]") {
  start_shown();
  tailer.hold_back();
  report(1, {exited(1, 7)});
  CHECK(tailer.told() == "drain 1/1");
  CHECK(agent.told().empty());
  CHECK(evidence->calls.told().empty());
  tailer.show(1);
  run();
  CHECK(evidence->calls.told() == "examine 1 /logs/1/1/error.json");
  CHECK(agent.told() == failure_of_1);
}

TEST_CASE_METHOD(logs_fixture,
                 "worker_supervisor: a tailer that hangs delays a death only "
                 "briefly",
                 "[actors]") {
  start_shown();
  tailer.hold_back();
  report(1, {exited(1, 7)});
  advance(99ms);
  CHECK(agent.told().empty());
  advance(1ms);
  CHECK(agent.told() == failure_of_1);
  tailer.show(1); // Too late.
  run();
  CHECK(agent.told().empty());
}

TEST_CASE_METHOD(logs_fixture, "worker_supervisor: it ends with its tailer",
                 "[actors]") {
  auto reasons = std::vector<std::string>{};
  uut->attach_functor(
    [&](const caf::error& x) { reasons.push_back(caf::deep_to_string(x)); });
  start_shown();
  host->told();
  lines.told();
  end(tailer.handle);
  CHECK(reasons.size() == 1);
  CHECK(host->told() == "signal 1 9");
  CHECK(lines.told()
        == "error the log tailer of this node has ended unexpectedly\n");
}

TEST_CASE_METHOD(logs_fixture,
                 "worker_supervisor: deaths are reported in their order",
                 "[actors]") {
  start_shown();
  tailer.hold_back();
  report(1, {exited(1, 7), exited(0, 8)});
  CHECK(tailer.told() == "drain 1/1; drain 1/0"); // Both at once.
  tailer.show(0);
  run();
  CHECK(agent.told().empty());
  tailer.show(1);
  run();
  CHECK(agent.told() == failure_of_1);
  order(core::stop_group{{1}, 0});
  CHECK(agent.told() == "stopped 1, port 29501 +1");
}

TEST_CASE_METHOD(logs_fixture,
                 "worker_supervisor: a worker whose output is not shown is "
                 "reported at once",
                 "[actors]") {
  start(1);
  tailer.told();
  tailer.hold_back();
  report(1, {exited(1, 7)});
  CHECK(tailer.told().empty());
  CHECK(agent.told() == failure_of_1);
}

TEST_CASE_METHOD(logs_fixture,
                 "worker_supervisor: success waits for its last lines, too",
                 "[actors]") {
  start_shown();
  tailer.hold_back();
  report(1, {exited(0, 0), exited(1, 0)});
  CHECK(agent.told().empty());
  tailer.show(0);
  tailer.show(1);
  run();
  CHECK(agent.told() == "succeeded 1");
  CHECK(tailer.told() == "drain 1/0; drain 1/1; close 1");
  CHECK(evidence->calls.told().empty());
}

TEST_CASE_METHOD(logs_fixture,
                 "worker_supervisor: an order to stop waits for no lines",
                 "[actors]") {
  for (const auto kills : {false, true}) {
    auto x = logs_fixture{};
    x.start_shown();
    x.tailer.hold_back();
    x.advance(10ms);
    const auto before = x.clock() - 1ns;
    x.report(1, {exited(1, 7, before)});
    if (kills)
      x.order(core::kill_group{{1}});
    else
      x.order(core::stop_group{{1}, 0});
    CHECK(x.host->told() == (kills ? "signal 1 9" : "signal 1 15"));
    x.tailer.told();
    x.report(1, {exited(0, 1, x.clock())});
    CHECK(x.tailer.told() == "drain 1/0; close 1"); // Shown, but not awaited.
    // The first died before the order, and the group knows that.
    CHECK(x.agent.told() == "stopped 1, port 29501 +1");
  }
}

// -- evidence -----------------------------------------------------------------

TEST_CASE_METHOD(logs_fixture,
                 "worker_supervisor: evidence is reported with a death",
                 "[actors]") {
  evidence->found.message = "RuntimeError: no data";
  start(1);
  report(1, {exited(1, 7)});
  CHECK(agent.told() == std::string{failure_of_1} + ": RuntimeError: no data");
}

TEST_CASE_METHOD(logs_fixture,
                 "worker_supervisor: ordered deaths are not examined",
                 "[actors]") {
  start(1);
  evidence->calls.told();
  advance(10ms);
  const auto before = clock() - 1ns;
  order(core::stop_group{{1}, 0});
  report(1, {exited(0, 1, clock()), exited(1, 1, before)});
  CHECK(evidence->calls.told() == "examine 1 /logs/1/1/error.json");
  CHECK(agent.told() == "stopped 1, port 29501 +1");
}

TEST_CASE_METHOD(logs_fixture,
                 "worker_supervisor: once one has failed, the error files of"
                 " stopped ones are looked at",
                 "[actors]") {
  start(1);
  advance(90s);
  evidence->calls.told();
  evidence->now_ms = 1'000'000;
  report(1, {exited(1, 7)});
  CHECK(agent.told() == failure_of_1);
  advance(10ms);
  order(core::stop_group{{1}, 0});
  evidence->calls.told();
  evidence->found.error_file = "/logs/1/0/error.json";
  evidence->found.message = "ValueError: old";
  evidence->found.wall_ms = evidence->now_ms - 60'000;
  report(1, {exited(0, 1, clock())});
  CHECK(evidence->calls.told() == "recall 0 /logs/1/0/error.json");
  // And the first is listed again, behind the older one.
  CHECK(agent.told() == "stopped 1, port 29501 +2");
}

TEST_CASE_METHOD(logs_fixture,
                 "worker_supervisor: an error file from long before its group,"
                 " or from the future, loses no failure",
                 "[actors]") {
  for (const auto wall_ms : {int64_t{1}, int64_t{2'000'000'000'000}}) {
    auto x = logs_fixture{};
    x.start(1);
    x.evidence->now_ms = 1'785'587'650'000;
    x.evidence->found.error_file = "/logs/1/1/error.json";
    x.evidence->found.wall_ms = wall_ms;
    x.report(1, {exited(1, 7, x.clock())});
    CHECK(x.agent.told() == failure_of_1);
    x.order(core::stop_group{{1}, 0});
    x.report(1, {exited(0, 1, x.clock())});
    CHECK(x.agent.told().starts_with("stopped 1, port 29501"));
  }
}

TEST_CASE_METHOD(
  logs_fixture,
  "worker_supervisor: a worker that could not be started is examined",
  "[actors]") {
  order(fenced_start{plan(1), {}});
  evidence->calls.told();
  auto event = ports::process_not_started{};
  event.generation = {1};
  event.error = ENOENT;
  event.subject = "/bin/none";
  report(1, {event});
  CHECK(evidence->calls.told() == "examine start 0 train");
  CHECK(agent.told()
        == "failed 1: rank 4 (local rank 0) on node-a could not be started: "
           "/bin/none: No such file or directory");
}

TEST_CASE_METHOD(
  supervisor_fixture,
  "worker_supervisor: the machine names the program it cannot start",
  "[actors]") {
  order(fenced_start{plan(1), {}});
  auto event = ports::process_not_started{};
  event.generation = {1};
  event.error = EACCES;
  event.subject = "/opt/interpreter";
  report(1, {event});
  CHECK(agent.told()
        == "failed 1: rank 4 (local rank 0) on node-a could not be started: "
           "/opt/interpreter: Permission denied");
}

// -- other hosts, stop signals, forwarded signals -----------------------------

TEST_CASE_METHOD(logs_setting,
                 "worker_supervisor: processes may be made elsewhere",
                 "[actors]") {
  auto with = config();
  with.ports = nullptr;
  with.processes_of = [](const core::generation_plan& made_for,
                         const core::generation_outputs& outputs) {
    auto out = std::vector<ports::process_spec>{};
    for (uint32_t i = 0; i < made_for.own.slot_count; ++i)
      out.push_back({.local_rank = i,
                     .arguments = {"mine"},
                     .environment = {outputs.workers.at(i).error_file}});
    return out;
  };
  begin(with);
  order(fenced_start{plan(1), {}});
  REQUIRE(host->process_count(1) == 2);
  CHECK(host->process(1, 1).arguments == std::vector<std::string>{"mine"});
  CHECK(host->has(1, 1, "/logs/1/1/error.json"));
  CHECK(host->process(1, 1).out.path == "/logs/1/1/out");
  CHECK(host->process(1, 1).err.path == "/logs/1/1/err");
  evidence->calls.told();
  report(1, {ports::process_not_started{{1}, 0, ENOENT, {}, {}},
             ports::process_not_started{{1}, 1, ENOENT, {}, {}}});
  CHECK(evidence->calls.told() == "examine start 0 mine; examine start 1 mine");
  agent.told();
  order(core::stop_group{{1}, 0});
  CHECK(agent.told() == "stopped 1, port 0 +1");
}

TEST_CASE_METHOD(supervisor_fixture,
                 "worker_supervisor: an order may bring its own grace period",
                 "[actors]") {
  start(1);
  order(core::stop_group{{1}, 0, 2s});
  CHECK(host->told() == "signal 1 15");
  advance(1'999ms);
  CHECK(host->told().empty());
  advance(1ms);
  CHECK(host->told() == "signal 1 9");
}

TEST_CASE_METHOD(supervisor_setting,
                 "worker_supervisor: a fixed stop signal applies always",
                 "[actors]") {
  auto with = config();
  with.workers.stop_signal = SIGUSR1;
  with.workers.is_stop_signal_fixed = true;
  begin(with);
  start(1);
  order(core::stop_group{{1}, SIGINT});
  CHECK(host->told() == "signal 1 10");
}

TEST_CASE_METHOD(supervisor_fixture,
                 "worker_supervisor: a signal is passed on to what runs",
                 "[actors]") {
  order(notify_group{SIGUSR1}); // There is no worker.
  CHECK(host->told().empty());
  start(1);
  order(notify_group{SIGUSR1});
  CHECK(host->told() == "notify 1 10");
  CHECK(agent.told().empty());
}

} // namespace actorrun::test::worker_supervisor_outputs_test
