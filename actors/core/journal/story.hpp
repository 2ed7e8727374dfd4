// Explains a job to people: why it waits, why a generation ended, why it failed.
#pragma once

#include "actors/core/journal/snapshot.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::core::journal {

/// What ended a generation or a job: the first cause, and who failed because of it.
struct culprit {
  enum class kind : uint8_t {
    worker,        ///< It has failed; `failure` says how.
    node_lost,     ///< Its agent died or was silent.
    node_left,     ///< Its agent was asked to end, or has ended its share.
    operator_stop, ///< The job was asked to end.
    too_few_nodes, ///< They did not come in time.
    regrouped, ///< Nodes joined, or an operator asked for another generation.
  };

  kind what = kind::worker;
  std::string host{};   ///< Of the worker or the node; empty: none.
  agent_id agent{};     ///< Likewise.
  std::string reason{}; ///< `exited with code 7`, `left`
  std::optional<worker_failure> failure{};
  std::vector<uint32_t>
    failed_after_it{}; ///< Global ranks; those that are known.

  friend bool operator==(const culprit&, const culprit&) = default;
};

/// One causal sentence, and what it rests on. All texts are printable.
struct explanation {
  std::string sentence;
  std::vector<std::string> evidence{}; ///< One line each.
  std::optional<culprit> cause{}; ///< Of what has ended last; none: nothing.
  generation_id generation{};     ///< That this is about; 0: none.

  friend bool operator==(const explanation&, const explanation&) = default;
};

/// Of the job: how it ended; what it waits for; otherwise what ended the last
/// generation.
/// @param now By the coordinator's monotonic clock; of a job that is gone, when
///            it was last heard of.
explanation why(const snapshot& x, time_point now);

/// Of each generation, the first in front, and at the end of the job. None is told
/// of twice.
/// @param now as above
std::vector<explanation> why_all(const snapshot& x, time_point now);

/// Of one generation: how it came about, and what ended it.
/// @pre `index < x.generations.size()`
explanation why_generation(const snapshot& x, size_t index);

/// Whether everything is as it should be: a generation runs, and no node is
/// missing, away or in quarantine, nor does the job go round in a loop; or it has
/// succeeded.
/// @param now as above
bool is_healthy(const snapshot& x, time_point now);

/// The end that the job goes round in a loop with: some in a row were alike, and the
/// generation that runs has not run for long. Null: it does not, or is over.
/// @param now as above
const trouble* loop_of(const snapshot& x, time_point now);

/// Which workers are slower than the others, one line; empty: none is.
std::string slow_sentence(const snapshot& x);

/// In one word: how the job has ended, or its phase: `failed`, `gathering`.
std::string state_of(const snapshot& x);

std::string to_string(culprit::kind x);

} // namespace actorrun::core::journal
