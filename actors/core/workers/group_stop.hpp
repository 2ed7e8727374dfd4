// Stops a group's workers, or parks them for the next generation.
#pragma once

#include "actors/core/time.hpp"
#include "actors/core/workers/group_orders.hpp"
#include "actors/core/workers/worker_table.hpp"

#include <chrono>

namespace actorrun::core {

/// So long spares wait for the next generation.
inline constexpr auto idle_spares_max = duration{std::chrono::minutes{1}};

/// The order to stop, and what is done so that the workers end.
///
///                 grace period over, or ordered to kill
///  none -> asked --------------------------------------> killed -> given up
///    +----------- no grace, or ordered to kill ------------^
///
/// A live worker need not end when the group is stopped for the sake of the next
/// generation: it is asked to park, and is killed if it has not within the grace
/// period.
class group_stop {
public:
  /// @param kill_timeout From SIGKILL to giving up a worker; 0: never.
  /// @param may_park Also without an order: the workers are started ahead.
  group_stop(std::chrono::milliseconds kill_timeout, bool may_park)
    : kill_timeout_(kill_timeout), may_park_(may_park) {}

  /// When it was ordered; 0: it was not.
  time_point ordered_at() const { return ordered_at_; }
  int signal() const { return signal_; }
  bool may_park() const { return may_park_; }

  /// @param has_begun If not, there may be workers that are parked, but no others.
  void begin(const stop_ordered& order, bool has_begun, worker_table& workers,
             group_orders& orders);

  /// There is no next generation for those that are parked, or are to park.
  /// @returns whether there are any
  bool stop_parked(const stop_ordered& order, worker_table& workers,
                   group_orders& orders);

  /// From now on those that are parked are workers that are being stopped, as others.
  void end_parking(worker_table& workers, group_orders& orders);

  /// A second kill does not extend the time.
  void kill(const worker_table& workers, group_orders& orders) const;

  /// Those that have parked stay.
  void kill_spares(const worker_table& workers, group_orders& orders) const;

private:
  worker_table::numbers spared(const worker_table& workers) const;

  std::chrono::milliseconds kill_timeout_;
  time_point ordered_at_{};
  int signal_ = 0;
  bool may_park_; ///< Live workers.
};

} // namespace actorrun::core
