// Counts rejected peers and reports them at intervals.
#pragma once

#include "actors/core/time.hpp"
#include "runtime/os/reactor.hpp"

#include <cstdint>
#include <functional>
#include <string>

namespace actorrun::detail {

/// The peers that were rejected since the last report.
struct rejection_report {
  uint64_t count = 0; ///< At least 1.
  std::string last_address;
  std::string last_reason; ///< Begins with a verb: `wants another job (n1)`.
};

/// Reports the first one at once, then at most once per interval. On the
/// reactor's thread only.
class rejected_peers {
public:
  using listener = std::function<void(const rejection_report&)>;

  /// @param on_report May be empty.
  rejected_peers(reactor& home, core::duration interval, listener on_report);

  void add(std::string address, std::string reason);

  /// Ends all reports.
  void stop();

private:
  void report();

  reactor& home_;
  core::duration interval_;
  listener on_report_;
  rejection_report next_;
  core::time_point earliest_{};
  reactor::timer timer_ = 0;
};

} // namespace actorrun::detail
