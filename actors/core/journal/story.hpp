// Explains a job to people: why it waits, why an epoch ended, why it failed.
#pragma once

#include "actors/core/journal/snapshot.hpp"

#include <string>
#include <vector>

namespace actorrun::core::journal {

/// One causal sentence, and what it rests on. All texts are printable.
struct explanation {
  std::string sentence;
  std::vector<std::string> evidence{}; ///< One line each.

  friend bool operator==(const explanation&, const explanation&) = default;
};

/// Of the job: how it ended; what it waits for; otherwise what ended the last
/// epoch.
/// @param now By the coordinator's monotonic clock; of a job that is gone, when
///            it was last heard of.
explanation why(const snapshot& x, time_point now);

/// Of one epoch: how it came about, and what ended it.
/// @pre `index < x.epochs.size()`
explanation why_epoch(const snapshot& x, size_t index);

/// Whether everything is as it should be: an epoch runs, and no node is missing,
/// away or in quarantine; or the job has succeeded.
bool is_healthy(const snapshot& x);

} // namespace actorrun::core::journal
