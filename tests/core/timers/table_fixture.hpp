// A timer table with readable events, and its effects as text.
#pragma once

#include "actors/core/timers/table.hpp"

#include <string>
#include <string_view>

namespace actorrun::core::test_timers {

/// The wall clock minus the monotonic one.
inline constexpr auto wall_offset = std::chrono::seconds{1'000'000};

/// Workers are named by their generation, local rank and pid; the pid is
/// 100 * generation + local rank unless a test gives another.
struct timer_table_fixture {
  timer_table uut;
  duration now{0};

  std::string step(const timer_event& event) {
    auto text = std::string{};
    for (const auto& x : uut.step(event, time_point{now}))
      text += (text.empty() ? "" : "; ") + to_string(x);
    return text;
  }

  static timed_worker worker(uint64_t generation, uint32_t rank) {
    return {.generation = {generation}, .local_rank = rank};
  }

  static int64_t pid_of(uint64_t generation, uint32_t rank) {
    return static_cast<int64_t>(100 * generation + rank);
  }

  std::string start(uint64_t generation, uint32_t rank) {
    return start(generation, rank, pid_of(generation, rank));
  }

  std::string start(uint64_t generation, uint32_t rank, int64_t pid) {
    return step(timed_worker_started{worker(generation, rank), pid});
  }

  std::string end(uint64_t generation, uint32_t rank) {
    return step(timed_worker_ended{worker(generation, rank)});
  }

  /// A line of the FIFO; the deadline is `due` by the monotonic clock.
  std::string acquire(int64_t pid, std::string_view scope, duration due,
                      int signal = 9) {
    return step(timer_requested{.pid = pid,
                                .scope = scope,
                                .is_release = false,
                                .expiration = due + wall_offset,
                                .signal = signal,
                                .wall_offset = wall_offset});
  }

  std::string release(int64_t pid, std::string_view scope) {
    return step(timer_requested{.pid = pid,
                                .scope = scope,
                                .is_release = true,
                                .wall_offset = wall_offset});
  }

  std::string drained(uint64_t round) { return step(source_drained{round}); }

  std::string fire(uint64_t timer) { return step(timer_fired{{timer}}); }

  /// Sets the clock.
  timer_table_fixture& at(duration t) {
    now = t;
    return *this;
  }
};

} // namespace actorrun::core::test_timers
