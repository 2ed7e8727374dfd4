// Keeps the failures of which a check of their node has yet to show whether they cost a
// restart.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/time.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace actorrun::core {

/// What a check of its node has shown of the failure that ended a generation.
enum class attribution : uint8_t {
  awaited, ///< Nothing yet: the check runs.
  node,    ///< The node was at fault. It costs no restart.
  program, ///< The node is well, or has gone unchecked. It costs one.
};

/// `awaited`
std::string to_string(attribution x);

/// A generation that a failure has ended.
struct deferred_failure {
  generation_id generation;
  worker_failure first; ///< The root cause; the check is of its agent's node.
  outcome how;          ///< Of the job, if no restart is left for it.
  time_point since;     ///< When their ages were as they are here.

  /// The same, aged up to `now`.
  deferred_failure at(time_point now) const;
};

/// By age. A node fails once before it is checked, so each agent has one at most.
class deferred_failures {
public:
  void add(deferred_failure x) { all_.push_back(std::move(x)); }

  /// Takes those out that are settled.
  /// @param is_settled Takes a `deferred_failure`.
  std::vector<deferred_failure>
  take_if(const std::function<bool(const deferred_failure&)>& is_settled);

  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }

  /// @pre not empty
  const deferred_failure& oldest() const { return all_.front(); }

private:
  std::vector<deferred_failure> all_;
};

} // namespace actorrun::core
