// How a group treats workers that SIGKILL does not end.
#include "actors/core/workers/worker_group.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

#include <csignal>
#include <string>
#include <vector>

namespace actorrun::test::worker_group_unkillable_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using milliseconds = std::chrono::milliseconds;

constexpr auto kill_timeout = milliseconds{30'000};
constexpr auto stop = stop_ordered{SIGTERM, 5s};

/// Three workers, global ranks 8 to 10, processes 100 to 102.
struct fixture {
  explicit fixture(milliseconds timeout = kill_timeout)
    : uut{plan(), "node-a", timeout} {
    at(0ms, start_ordered{});
    at(0ms, workers_prepared{});
    for (uint32_t i = 0; i < 3; ++i)
      at(0ms, worker_started{i, 100 + int64_t(i)});
  }

  static generation_plan plan() {
    auto x = generation_plan{};
    x.generation = {3};
    x.own.agent = {"a"};
    x.own.slot_count = 3;
    x.own.first_global_rank = 8;
    return x;
  }

  std::string at(milliseconds t, const worker_group_event& event) {
    effects = uut.step(event, time_point{t});
    for (const auto& x : effects)
      if (const auto* timer = std::get_if<arm_timer>(&x))
        armed = *timer;
    return test::transcript(effects);
  }

  void exit(milliseconds t, uint32_t local_rank) {
    at(t, worker_exited{.local_rank = local_rank, .signal = SIGKILL});
  }

  void overrun(milliseconds t, uint32_t local_rank, int signal = SIGKILL) {
    at(t, worker_overran{.local_rank = local_rank,
                         .scope = "train_step",
                         .lateness = 2s,
                         .signal = signal,
                         .grace = 1s});
  }

  const report_stopped& news() const {
    return std::get<report_stopped>(effects.back());
  }

  worker_group uut;
  std::vector<worker_group_effect> effects; ///< Of the latest step.
  arm_timer armed{};                        ///< The latest.
};

} // namespace

TEST_CASE("worker_group: a worker that outlives SIGKILL is given up",
          "[core]") {
  auto group = fixture{};
  CHECK(group.at(1s, kill_ordered{}) == "signal_workers 9; arm_timer 1");
  CHECK(group.armed.due == time_point{31s});
  group.exit(2s, 0);
  group.exit(2s, 2);
  CHECK(group.uut.current_phase() == worker_group::phase::stopping);
  CHECK(group.at(31s, timer_fired{group.armed.timer})
        == "release_workers; report_stopped +1 unkillable=1");
  CHECK(group.uut.current_phase() == worker_group::phase::stopped);
  const auto& news = group.news();
  CHECK(news.unkillable_count == 1);
  REQUIRE(news.others.listed.size() == 1);
  const auto& x = news.others.listed[0];
  CHECK(x.kind == failure_kind::unkillable);
  CHECK(x.local_rank == 1);
  CHECK(x.pid == 101);
  CHECK(x.age == 0s);
  CHECK(to_string(x)
        == "rank 9 (local rank 1, pid 101) on node-a outlived SIGKILL: it "
           "hangs in the kernel");
}

TEST_CASE("worker_group: the late end of a worker that was given up is ignored",
          "[core]") {
  auto group = fixture{};
  group.at(1s, kill_ordered{});
  group.at(31s, timer_fired{group.armed.timer});
  CHECK(
    group.at(32s, worker_exited{.local_rank = 1, .signal = SIGKILL}).empty());
  CHECK(group.at(33s, kill_ordered{}).empty());
}

TEST_CASE("worker_group: workers that end in time were killed, and the timer "
          "is ignored",
          "[core]") {
  auto group = fixture{};
  group.at(1s, kill_ordered{});
  for (uint32_t i = 0; i < 3; ++i)
    group.exit(30'999ms, i);
  CHECK(group.news().unkillable_count == 0);
  CHECK(group.news().others.empty());
  CHECK(group.at(31s, timer_fired{group.armed.timer}).empty());
}

TEST_CASE(
  "worker_group: the timeout after SIGKILL begins after the grace period",
  "[core]") {
  auto group = fixture{};
  CHECK(group.at(1s, stop) == "signal_workers 15; arm_timer 1");
  CHECK(group.at(6s, timer_fired{group.armed.timer})
        == "signal_workers 9; arm_timer 2");
  CHECK(group.armed.due == time_point{36s});
  CHECK(group.at(36s, timer_fired{group.armed.timer})
        == "release_workers; report_stopped +3 unkillable=3");
}

TEST_CASE("worker_group: a second order to kill does not extend the timeout",
          "[core]") {
  auto group = fixture{};
  group.at(1s, kill_ordered{});
  const auto first = group.armed.timer;
  CHECK(group.at(20s, kill_ordered{}) == "signal_workers 9");
  CHECK(group.at(31s, timer_fired{first})
        == "release_workers; report_stopped +3 unkillable=3");
}

TEST_CASE("worker_group: a timeout of 0 never ends", "[core]") {
  auto group = fixture{0ms};
  CHECK(group.at(1s, kill_ordered{}) == "signal_workers 9");
  group.overrun(1s, 1);
  CHECK(group.at(1s, timer_fired{}).empty());
}

TEST_CASE("worker_group: an overdue worker that cannot be killed has failed",
          "[core]") {
  auto group = fixture{};
  group.overrun(1s, 1);
  CHECK(group.armed.due == time_point{31s});
  CHECK(group.at(31s, timer_fired{group.armed.timer})
        == "report_failed: rank 9 (local rank 1, pid 101) on node-a outlived "
           "SIGKILL: it hangs in the kernel, and was killed by its timer: "
           "scope \"train_step\" was not left by its deadline (2.0 s late)");
  CHECK(group.at(31s, stop) == "signal_workers 15; arm_timer 2");
  group.exit(32s, 0);
  group.exit(32s, 2);
  CHECK(group.news().unkillable_count == 1);
  CHECK(group.news().others.empty()); // Already reported.
}

TEST_CASE("worker_group: a signal that may be ignored is sent before SIGKILL",
          "[core]") {
  auto group = fixture{};
  group.overrun(1s, 1, SIGTERM);
  CHECK(group.at(2s, timer_fired{group.armed.timer})
        == "signal_worker 1 9; arm_timer 2");
  CHECK(group.armed.due == time_point{32s});
  CHECK(
    group.at(32s, timer_fired{group.armed.timer}).starts_with("report_failed"));
}

TEST_CASE("worker_group: all are given up only when all were killed",
          "[core]") {
  auto group = fixture{};
  group.overrun(1s, 1);
  const auto own = group.armed.timer;
  group.at(2s, stop);
  CHECK(group.at(31s, timer_fired{own}).empty()); // The group's timeout counts.
  CHECK(group.uut.current_phase() == worker_group::phase::stopping);
}

TEST_CASE("worker_group: only a death by SIGKILL is the effect of SIGKILL",
          "[core]") {
  for (const auto exit_code : {0, 3}) {
    auto group = fixture{};
    group.overrun(1s, 1);
    const auto text
      = group.at(2s, worker_exited{.local_rank = 1, .exit_code = exit_code});
    // It has ended by itself, just before.
    CHECK(text.empty() == (exit_code == 0));
    CHECK(text.find("timer") == std::string::npos);
  }
  auto group = fixture{};
  group.overrun(1s, 1);
  group.at(2s, worker_exited{.local_rank = 1, .signal = SIGSEGV});
  CHECK(std::get<report_failed>(group.effects.at(0)).failure.kind
        == failure_kind::signalled);
}

} // namespace actorrun::test::worker_group_unkillable_test
