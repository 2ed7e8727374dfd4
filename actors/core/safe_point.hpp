// Lists what a coordinator and its agents tell each other so that a change of the
// group loses no step of workers that live through it (docs/live_workers.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace actorrun::core {

/// From the coordinator.
struct safe_point_order {
  enum class kind : uint8_t {
    hold,    ///< Each worker says how far it is, and goes past no safe point.
    stop_at, ///< Each goes on up to this step and waits there.
    go_on,   ///< The change is off.
  };
  kind what = kind::hold;
  uint64_t step = 0;  ///< Of `stop_at`.
  uint64_t round = 0; ///< Which change it is about; one after the other.

  friend bool operator==(const safe_point_order&, const safe_point_order&)
    = default;
};

/// From an agent, of all its workers that run.
struct safe_point_report {
  enum class kind : uint8_t {
    stepping, ///< One of them has said how far it is: they have safe points.
    held,     ///< All hold; `step` is the first that each can still stop at.
    reached,  ///< All wait where they were to stop: at `step`.
    refused,  ///< One of them cannot be told anything.
    wanted, ///< A time limit is near: all workers of the job are to save at one.
  };
  kind what = kind::stepping;
  uint64_t step = 0;
  /// That of the order that it answers. Of `stepping`: of one that has no answer yet;
  /// 0: there is none.
  uint64_t round = 0;
  std::chrono::milliseconds left{0}; ///< Of `wanted`: until the limit.

  /// Whether some of the workers may wait for an order.
  bool may_hold() const { return what != kind::stepping || round != 0; }

  friend bool operator==(const safe_point_report&, const safe_point_report&)
    = default;
};

/// `hold`, `stop_at 13`
std::string to_string(const safe_point_order& x);

/// `held 13`, `reached 13`
std::string to_string(const safe_point_report& x);

} // namespace actorrun::core
