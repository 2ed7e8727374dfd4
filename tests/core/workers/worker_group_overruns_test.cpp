// How a group treats a worker that overran a timer.
#include "actors/core/workers/worker_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

#include <csignal>
#include <string>
#include <vector>

namespace actorrun::test::worker_group_overruns_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using milliseconds = std::chrono::milliseconds;

constexpr auto stop = stop_ordered{SIGTERM, 5s};

worker_overran overran(uint32_t local_rank, int signal = SIGKILL,
                       milliseconds timeout = 0ms, milliseconds grace = 30s) {
  return {.local_rank = local_rank,
          .scope = "train_step",
          .lateness = 1200ms,
          .limit = 500ms,
          .signal = signal,
          .grace = grace,
          .timeout = timeout};
}

worker_exited killed(uint32_t local_rank, int signal, milliseconds when = 0ms) {
  auto x = worker_exited{.local_rank = local_rank, .signal = signal};
  x.when = time_point{when};
  return x;
}

worker_exited exited(uint32_t local_rank, int code) {
  return {.local_rank = local_rank, .exit_code = code};
}

/// Two workers, global ranks 8 and 9, processes 100 and 101.
struct fixture {
  fixture() {
    at(0ms, start_ordered{});
    at(0ms, workers_prepared{});
    for (uint32_t i = 0; i < 2; ++i)
      at(0ms, worker_started{i, 100 + int64_t(i)});
  }

  std::string at(milliseconds t, const worker_group_event& event) {
    effects = uut.step(event, time_point{t});
    for (const auto& x : effects)
      if (const auto* timer = std::get_if<arm_timer>(&x))
        armed = *timer;
    return test::transcript(effects);
  }

  worker_failure failure() const {
    return std::get<report_failed>(effects.at(0)).failure;
  }

  worker_group uut{{.generation = {3},
                    .own = {.agent = {"a"},
                            .node_rank = 0,
                            .slot_count = 2,
                            .first_global_rank = 8,
                            .first_role_rank = 0,
                            .role_world_size = 2},
                    .node_count = 1,
                    .world_size = 2,
                    .master_address = "10.0.0.1",
                    .master_port = 29500,
                    .restart_count = 0},
                   "node-a"};
  std::vector<worker_group_effect> effects; ///< Of the latest step.
  arm_timer armed{};                        ///< The latest.
};

} // namespace

TEST_CASE_METHOD(
  fixture, "worker_group: a worker that overran a timer is killed at once",
  "[core]") {
  CHECK(at(1s, overran(1)) == "signal_worker 1 9");
  CHECK(at(1s, killed(1, SIGKILL, 1000ms))
        == "report_failed: rank 9 (local rank 1, pid 101) on node-a was killed "
           "by its timer: scope \"train_step\" was not left within 500 ms "
           "(1.2 s late)");
  CHECK(failure().kind == failure_kind::timer_expired);
  CHECK(failure().code == SIGKILL);
  CHECK(failure().details.scope == "train_step");
  CHECK(failure().details.lateness == 1200ms);
  CHECK(failure().details.limit == 500ms);
  CHECK(failure().details.where.empty());
}

TEST_CASE_METHOD(fixture, "worker_group: the workers are inspected first",
                 "[core]") {
  CHECK(at(1s, overran(1, SIGKILL, 500ms)) == "arm_timer 1; probe_workers 1");
  CHECK(armed.due == time_point{1500ms});
  CHECK(at(1100ms, worker_probed{0, "another"}).empty());
  CHECK(at(1200ms, worker_probed{1, "in futex"}) == "signal_worker 1 9");
  CHECK(at(1300ms, worker_probed{1, "later"}).empty());
  CHECK(at(1500ms, timer_fired{armed.timer}).empty());
  at(1500ms, killed(1, SIGKILL));
  CHECK(failure().details.where == "in futex");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: the wait for the inspection is bounded",
                 "[core]") {
  at(1s, overran(1, SIGKILL, 500ms));
  CHECK(at(1500ms, timer_fired{}).empty());
  CHECK(at(1500ms, timer_fired{armed.timer}) == "signal_worker 1 9");
  CHECK(at(1600ms, worker_probed{1, "too late"}).empty());
  at(1700ms, killed(1, SIGKILL));
  CHECK(failure().details.where.empty());
}

TEST_CASE_METHOD(fixture,
                 "worker_group: a worker that survives its signal is killed",
                 "[core]") {
  CHECK(at(1s, overran(0, SIGTERM)) == "signal_worker 0 15; arm_timer 1");
  CHECK(armed.due == time_point{31s});
  const auto first = armed;
  CHECK(at(31s, timer_fired{first.timer}) == "signal_worker 0 9");
  CHECK(at(32s, timer_fired{first.timer}).empty());
  at(33s, killed(0, SIGKILL));
  CHECK(failure().code == SIGKILL);
}

TEST_CASE_METHOD(fixture, "worker_group: without grace the signal is SIGKILL",
                 "[core]") {
  CHECK(at(1s, overran(0, SIGTERM, 0ms, 0ms)) == "signal_worker 0 9");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: however the overdue worker ends, its timer is "
                 "the cause",
                 "[core]") {
  struct row {
    worker_exited death;
    int code;
  };
  for (const auto& x : {row{exited(0, 0), SIGTERM}, row{exited(0, 3), SIGTERM},
                        row{killed(0, SIGABRT), SIGABRT}}) {
    auto group = fixture{};
    group.at(1s, overran(0, SIGTERM));
    group.at(2s, x.death);
    CHECK(group.failure().kind == failure_kind::timer_expired);
    CHECK(group.failure().code == x.code);
  }
}

TEST_CASE_METHOD(fixture,
                 "worker_group: a worker that dies before its signal did not "
                 "die of its timer",
                 "[core]") {
  at(1s, overran(0, SIGKILL, 500ms));
  at(1100ms, killed(0, SIGSEGV, 1100ms));
  CHECK(failure().kind == failure_kind::signalled);
  CHECK(at(1200ms, worker_probed{0, "gone"}).empty());
  CHECK(at(1500ms, timer_fired{armed.timer}).empty());
  at(2s, overran(1));
  at(2001ms, killed(1, SIGSEGV, 1999ms)); // A consequence of the first failure.
  at(3s, stop);
  const auto& others = std::get<report_stopped>(effects.back()).others;
  REQUIRE(others.listed.size() == 1);
  CHECK(others.listed[0].kind == failure_kind::signalled);
}

TEST_CASE_METHOD(fixture, "worker_group: the first overrun of a worker counts",
                 "[core]") {
  at(1s, overran(0, SIGTERM));
  CHECK(at(2s, overran(0, SIGKILL)).empty());
  CHECK(at(2s, overran(1)) == "signal_worker 1 9");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: a worker that has ended cannot overrun",
                 "[core]") {
  at(1s, exited(0, 0));
  CHECK(at(2s, overran(0)).empty());
}

TEST_CASE_METHOD(fixture,
                 "worker_group: once all must end no worker is signalled alone",
                 "[core]") {
  at(1s, overran(0, SIGKILL, 500ms));
  const auto timeout = armed;
  CHECK(at(1100ms, stop) == "signal_workers 15; arm_timer 2");
  CHECK(at(1200ms, worker_probed{0, "in futex"}).empty());
  CHECK(at(1500ms, timer_fired{timeout.timer}).empty());
  CHECK(at(1600ms, overran(1)).empty());
  CHECK(at(6100ms, timer_fired{armed.timer}) == "signal_workers 9");
  at(6200ms, killed(0, SIGKILL, 6200ms));
  CHECK(at(6200ms, killed(1, SIGKILL, 6200ms))
        == "release_workers; report_stopped");
}

TEST_CASE_METHOD(fixture,
                 "worker_group: an overdue worker that was signalled before "
                 "the stop has failed",
                 "[core]") {
  at(1s, overran(0));
  at(1s, stop);
  at(1100ms, killed(0, SIGKILL, 1100ms));
  CHECK(at(1100ms, killed(1, SIGTERM, 1100ms))
        == "release_workers; report_stopped +1");
  const auto& others = std::get<report_stopped>(effects.back()).others;
  CHECK(others.listed.at(0).kind == failure_kind::timer_expired);
}

} // namespace actorrun::test::worker_group_overruns_test
