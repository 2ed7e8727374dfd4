// PUBLIC: says at which ports a process shows its part of a job.
#pragma once

#include "runtime/options.hpp"

#include <optional>

namespace actorrun {

/// Each has a numeric address and a port, 0 for any free one; none: that is not
/// served. Two may be the same. What is served there can only be read.
struct http_options {
  /// `/metrics` for Prometheus, and what `health` has.
  std::optional<endpoint> metrics{};
  /// A page for browsers, which is live.
  std::optional<endpoint> page{};
  /// `/healthz` and `/readyz`. The job goes on without them if the port is taken:
  /// a variable, which several jobs may inherit, asks for it.
  std::optional<endpoint> health{};

  bool is_any_set() const { return metrics || page || health; }
  friend bool operator==(const http_options&, const http_options&) = default;
};

} // namespace actorrun
