// Accounts for the time of a job: what its nodes' places were for, by generation and
// by host (docs/time.md).
#pragma once

#include "actors/core/journal/snapshot.hpp"
#include "actors/core/journal/spent_time.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::core::journal {

/// What the places of a node are for, now.
/// @param job That it is a node of.
time_cause cause_of(const node& x, const snapshot& job);

struct generation_time {
  generation_id generation;
  /// From when it was formed until the next one was, or until now.
  spent_time spent{};
  bool is_revoked = false;

  friend bool operator==(const generation_time&, const generation_time&)
    = default;
};

/// What one coordinator knows. The causes of `all` are the sums of those of the
/// generations and `outside`, and of those of the hosts and `other_hosts`.
struct time_account {
  uint64_t wall_us = 0;
  spent_time all{};
  spent_time outside{}; ///< Before the first generation that is remembered.
  uint64_t forgotten_generation_count = 0;
  std::vector<generation_time> generations{}; ///< The newest last.
  std::map<std::string, spent_time> hosts{};
  spent_time other_hosts{}; ///< That left when too many were remembered.

  /// Part of the places' time in which workers trained, 0..1; 0 if there was none.
  double goodput() const;

  /// How many places there were, on average.
  double places() const;

  /// What was lost by the end of a generation, in worker time: stopping its workers,
  /// waiting for nodes, and starting the workers of the next one. None: it goes on, or
  /// all its workers have succeeded.
  /// @pre `index < generations.size()`
  std::optional<uint64_t> end_us(size_t index) const;

  friend bool operator==(const time_account&, const time_account&) = default;
};

/// @param now By the coordinator's monotonic clock. It does not count what comes
///            after the end of the job.
time_account account_of(const snapshot& x, time_point now);

/// Of all coordinators of a job.
struct job_time {
  time_account sum{};
  /// Between two of them, when no journal tells what nodes did. It is not in `sum`.
  uint64_t untold_us = 0;
};

/// Between a coordinator and one that takes over its generation, nodes did what they
/// had done before.
/// @param coordinators The oldest in front; not empty, none null.
/// @param now By the last one's monotonic clock.
job_time time_of(const std::vector<const snapshot*>& coordinators,
                 time_point now);

/// `92.1 % training, 3.0 % starting, 4.9 % waiting for nodes`: the causes in the order
/// of what they took. None that rounds to nothing; empty: there was no time.
std::string summary_of(const time_account& x);

/// Whether people are told of it when the job ends, without having asked: its time was
/// not short, or something has happened to it.
bool is_worth_telling(const snapshot& x, const time_account& time);

} // namespace actorrun::core::journal
