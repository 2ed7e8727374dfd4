#include "actors/core/reports/event_log.hpp"
#include "tests/support/catch.hpp"

#include <cerrno>
#include <csignal>

namespace actorrun::test::event_log_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using lines = std::vector<std::string>;

/// Unix time in ms at which the tests begin.
constexpr int64_t wall_begin = 1'785'500'000'000;

/// Node rank 1 of 2, local ranks 0 and 1 of two roles, after one restart.
generation_plan plan_of_two() {
  auto plan = generation_plan{};
  plan.generation = {4};
  plan.own.node_rank = 1;
  plan.own.slot_count = 2;
  plan.own.first_global_rank = 3;
  plan.own.first_role_rank = 5;
  plan.own.role_world_size = 7;
  plan.node_count = 2;
  plan.world_size = 5;
  plan.restart_count = 1;
  return plan;
}

struct fixture {
  time_point begin{1h};
  time_point now = begin;
  worker_group group{plan_of_two(), "n1"};
  event_log uut{{{"job1"}, "trainer", "n1.cluster", "static", "python3"},
                begin};

  int64_t wall() const {
    return wall_begin
           + std::chrono::duration_cast<std::chrono::milliseconds>(now - begin)
               .count();
  }

  /// The lines for an event, which the group handles afterwards.
  lines after(std::chrono::milliseconds time, const worker_group_event& event) {
    now += time;
    auto out = uut.note(event, group, now, wall());
    group.step(event, now);
    return out;
  }

  std::string one(std::chrono::milliseconds time,
                  const worker_group_event& event) {
    const auto out = after(time, event);
    REQUIRE(out.size() == 1);
    return out.front();
  }

  void start_both() {
    after(0ms, start_ordered{});
    after(0ms, workers_prepared{});
    after(0ms, worker_started{0, 11});
    after(0ms, worker_started{1, 12});
  }

  std::string end(const ending& how) {
    const auto out = uut.note(how, now, wall());
    REQUIRE(out.size() == 1);
    return out.front();
  }
};

bool has(const std::string& text, const std::string& part) {
  INFO(text);
  INFO(part);
  return text.find(part) != std::string::npos;
}

ending ended(outcome::verdict kind, const std::string& reason) {
  auto x = outcome{};
  x.kind = kind;
  x.reason = reason;
  return {.result = x, .why = {}, .signal = 0};
}

} // namespace

TEST_CASE_METHOD(fixture, "event_log: a generation begins with a rendezvous",
                 "[core]") {
  const auto out = after(1'500ms, start_ordered{});
  REQUIRE(out.size() == 2);
  CHECK(out[0]
        == R"({"name": "torchelastic.worker.status.RENDEZVOUS", )"
           R"("source": "AGENT", "timestamp": 1785500001500, "metadata": )"
           R"({"run_id": "job1", "global_rank": null, "group_rank": 1, )"
           R"("worker_id": null, "role": "trainer", "hostname": "n1.cluster", )"
           R"("state": "RENDEZVOUS", "total_run_time": 1, )"
           R"("rdzv_backend": "static", "raw_error": null, "metadata": )"
           R"("{\"group_world_size\": 2, \"entry_point\": \"python3\"}", )"
           R"("agent_restarts": 1, "duration_ms": 1500}})");
  CHECK(has(out[1], "status.ASSIGN_WORKER_RANKS\""));
  CHECK(has(out[1], "\"duration_ms\": 0}}"));
}

TEST_CASE_METHOD(fixture,
                 "event_log: T3 a worker that is started ahead has no rank",
                 "[core]") {
  auto plan = plan_of_two();
  plan.is_ahead = true;
  group = worker_group{plan, "n1"};
  CHECK(after(0ms, start_ordered{}).empty());
  after(0ms, workers_prepared{});
  CHECK(has(one(0ms, worker_started{0, 11}),
            "\"global_rank\": null, \"group_rank\": null, \"worker_id\":"
            " \"11\""));
}

TEST_CASE_METHOD(fixture, "event_log: a worker that runs has ranks and a pid",
                 "[core]") {
  after(0ms, start_ordered{});
  after(0ms, workers_prepared{});
  CHECK(one(20ms, worker_started{1, 4'711})
        == R"({"name": "torchelastic.worker.status.START", )"
           R"("source": "WORKER", "timestamp": 1785500000020, "metadata": )"
           R"({"run_id": "job1", "global_rank": 4, "group_rank": 1, )"
           R"("worker_id": "4711", "role": "trainer", )"
           R"("hostname": "n1.cluster", "state": "START", )"
           R"("total_run_time": 0, "rdzv_backend": "static", )"
           R"("raw_error": null, "metadata": )"
           R"("{\"group_world_size\": 2, \"entry_point\": \"python3\", )"
           R"(\"local_rank\": [1], \"role_rank\": [6], )"
           R"(\"role_world_size\": [7], \"exit_code\": [null], )"
           R"(\"worker_pid\": [4711]}", "agent_restarts": 1, )"
           R"("duration_ms": null}})");
}

TEST_CASE_METHOD(fixture,
                 "event_log: an end is a success, a failure or ordered",
                 "[core]") {
  start_both();
  const auto good = one(1s, worker_exited{.local_rank = 0});
  CHECK(has(good, "status.SUCCEEDED\", \"source\": \"WORKER\""));
  CHECK(has(good, R"(\"exit_code\": [0], \"worker_pid\": [11])"));
  auto details = death_details{};
  details.wall_ms = wall_begin + 2'999;
  details.message = "ValueError: \"x\"";
  details.traceback = "line 1\nline 2";
  const auto bad = one(
    1s, worker_exited{.local_rank = 1, .exit_code = 3, .details = details});
  CHECK(has(bad, "status.FAILED"));
  CHECK(has(bad, R"("raw_error": "{\"message\": {\"message\": )"
                 R"(\"ValueError: \\\"x\\\"\", \"extraInfo\": )"
                 R"({\"py_callstack\": \"line 1\\nline 2\", )"
                 R"(\"timestamp\": \"1785500002\"}}}")"));
  CHECK(has(bad, R"(\"exit_code\": [3])"));
}

TEST_CASE_METHOD(fixture, "event_log: a worker ended by order is terminated",
                 "[core]") {
  start_both();
  CHECK(after(1s, stop_ordered{SIGTERM, 30s}).empty());
  const auto x
    = one(10ms, worker_exited{.local_rank = 0, .signal = SIGTERM, .when = now});
  CHECK(has(x, "status.TERMINATED"));
  CHECK(has(x, R"(\"exit_code\": [-15])"));
  CHECK(has(x, "\"raw_error\": null"));
}

TEST_CASE_METHOD(fixture,
                 "event_log: a signal has the exit code that shells show",
                 "[core]") {
  start_both();
  const auto x = one(1s, worker_exited{.local_rank = 0, .signal = SIGSEGV});
  CHECK(has(x, "status.FAILED"));
  CHECK(has(x, R"(\"exit_code\": [-11])"));
  CHECK(has(x, "killed by signal 11"));
}

TEST_CASE_METHOD(fixture, "event_log: a cancelled start is no event",
                 "[core]") {
  after(0ms, start_ordered{});
  after(0ms, workers_prepared{});
  auto details = death_details{};
  details.subject = "/none";
  const auto x = one(0ms, worker_not_started{0, ENOENT, details, now});
  CHECK(has(x, "status.FAILED"));
  CHECK(has(x, R"(\"exit_code\": [127])"));
  CHECK(has(x, "/none"));
  CHECK(after(0ms, worker_not_started{1, ECANCELED, {}, now}).empty());
}

TEST_CASE_METHOD(fixture, "event_log: an overdue timer is two events",
                 "[core]") {
  start_both();
  const auto out = after(10s, worker_overran{.local_rank = 1,
                                             .scope = "train.py#7",
                                             .lateness = 2s,
                                             .signal = SIGKILL});
  REQUIRE(out.size() == 2);
  CHECK(has(out[0], "{\"name\": \"timer expired\", \"source\": \"AGENT\""));
  CHECK(has(out[0], "\"state\": \"RUNNING\""));
  CHECK(has(out[0], R"(\"worker_pid\": \"12\", \"scope_id\": \"train.py#7\", )"
                    R"(\"expiration_time\": \"1785500008\", )"
                    R"(\"signal\": \"9\"})"));
  CHECK(has(out[1], "{\"name\": \"kill worker process\""));
}

TEST_CASE_METHOD(fixture, "event_log: time counts from the last worker's end",
                 "[core]") {
  start_both();
  after(5s, worker_exited{.local_rank = 0, .exit_code = 1});
  after(1s, worker_exited{.local_rank = 1, .exit_code = 1});
  group = worker_group{plan_of_two(), "n1"};
  CHECK(has(after(300ms, start_ordered{})[0], "\"duration_ms\": 300}}"));
}

TEST_CASE_METHOD(fixture, "event_log: the agent's end has its outcome",
                 "[core]") {
  CHECK(has(end(ended(outcome::verdict::succeeded, "")),
            "status.SUCCEEDED\", \"source\": \"AGENT\""));
  const auto failed = end(ended(outcome::verdict::failed, "rank 0 failed"));
  CHECK(has(failed, "status.FAILED\", \"source\": \"AGENT\""));
  CHECK(has(failed, "\"raw_error\": \"rank 0 failed\""));
  CHECK(has(failed, "\"group_rank\": null"));
  CHECK(has(end({.result = {},
                 .why = failure{errc::coordinator_lost, "it is gone"},
                 .signal = 0}),
            "\"raw_error\": \"it is gone\""));
  CHECK(has(end({.result = {}, .why = {}, .signal = 15}), "on signal 15"));
}

TEST_CASE("event_log: any bytes become JSON", "[core]") {
  auto uut = event_log{{{"a\"b\\c\td\ne"}, "\x01\xff", "ü", "", ""}, {}};
  const auto out = uut.note({.result = {}, .why = {}, .signal = 1}, {}, 0);
  REQUIRE(out.size() == 1);
  CHECK(has(out[0], R"("run_id": "a\"b\\c\td\ne")"));
  CHECK(has(out[0], "\"role\": \"\\\\x01\xef\xbf\xbd\""));
  CHECK(has(out[0], "\"hostname\": \"ü\""));
  CHECK(out[0].find('\n') == std::string::npos);
}

} // namespace actorrun::test::event_log_test
