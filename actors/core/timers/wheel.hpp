// Keeps deadlines by worker and scope, and finds the expired ones.
#pragma once

#include "actors/core/time.hpp"
#include "actors/core/timers/index.hpp"
#include "actors/core/timers/scopes.hpp"
#include "actors/core/timers/slab.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::core {

/// How much a wheel takes in. A worker's share is smaller than the whole, so
/// that one that runs wild leaves room for its siblings.
struct timer_limits {
  uint32_t timer_count_max = 1u << 20;
  uint32_t timers_per_worker_max = 1u << 17;
  /// Bytes of all scopes longer than 30 bytes; equal scopes count once.
  size_t long_text_max = size_t{64} << 20;
};

/// A timer that was not released in time.
struct expired_timer {
  uint32_t worker = 0;
  std::string scope;
  time_point due;
  int signal = 0;
  duration limit{0}; ///< Whole microseconds, rounded up.

  friend bool operator==(const expired_timer&, const expired_timer&) = default;
};

/// A hierarchical timing wheel: eight levels of 64 slots, a slot of the lowest
/// is 65.5 µs wide, one of each other level spans the level below. That covers
/// all of `time_point`, so there is no deadline beyond it.
///
/// A timer lies on the level of the highest digit (of six bits) in which its
/// deadline differs from the wheel's own time, and sinks as that time comes
/// near: at most seven times. Slots are wide, deadlines are exact: no timer
/// expires early, and within a slot they are sorted when they do.
///
/// Time is what `advance` says. A timer needs 48 bytes plus its scope.
class timer_wheel {
public:
  explicit timer_wheel(timer_limits limits = {});

  /// Starts a timer, or gives the one of this worker and scope a new deadline
  /// and signal.
  /// @param worker A small number: there is a table up to the highest.
  /// @param scope  Up to `scope_text_max` bytes.
  /// @param due    Any; one that is over expires with the next `advance`.
  /// @param signal Is handed back when the timer expires; from -128 to 127, or the
  ///               nearest.
  /// @param limit  Likewise; from 0 to two years, or the nearest.
  /// @returns false: a limit is reached and there is no such timer yet; nothing
  ///          has changed.
  /// @complexity O(1) amortised
  bool acquire(uint32_t worker, std::string_view scope, time_point due,
               int signal, duration limit = duration{0});

  /// Ends a timer, expired or not. O(1).
  /// @returns whether there was one
  bool release(uint32_t worker, std::string_view scope);

  /// Ends all timers of a worker. O(N) for N of them.
  void clear(uint32_t worker);

  /// Finds the timers whose deadline is `now` or earlier; `take_expired` hands
  /// them out. Until then they can still be released or acquired anew.
  /// @param now A time before that of an earlier call counts as that.
  /// @complexity O(1) amortised, and O(K log K) for K that expire.
  void advance(time_point now);

  /// Ends and returns the earliest timer that `advance` has found, the one with
  /// the earliest deadline first; none if there is none. O(1).
  std::optional<expired_timer> take_expired();

  bool has_expired() const { return slots_[expired_slot].head != no_record; }

  /// A time before which nothing expires: at or before the earliest deadline,
  /// never after it. It is earlier if that timer was released since; then
  /// `advance` at this time finds nothing and makes it exact. None if there are
  /// no timers. O(1).
  std::optional<time_point> next_due() const;

  size_t size() const { return index_.size(); }

  /// Timers of one worker.
  size_t size_of(uint32_t worker) const;

  /// Different scopes in use.
  size_t scope_count() const { return scopes_.size(); }

private:
  static constexpr uint32_t digit_bits = 6;
  static constexpr uint32_t slots_per_level = 1u << digit_bits;
  static constexpr uint32_t level_count = 8;
  static constexpr uint32_t tick_bits = 16; ///< A tick is 2^16 ns.
  static constexpr uint16_t expired_slot = level_count * slots_per_level;
  static constexpr uint16_t nowhere = expired_slot + 1;
  static constexpr uint32_t limit_bits = 46;

  struct timer {
    int64_t due = 0;           ///< As `time_point` counts.
    uint32_t link = no_record; ///< The next one in its slot.
    uint32_t previous = no_record;
    uint32_t next_own = no_record; ///< The next one of its worker.
    uint32_t previous_own = no_record;
    uint32_t worker = 0;
    uint32_t scope = 0;
    // In one word, so that a million timers take no more than they must.
    uint64_t limit : limit_bits = 0; ///< In µs.
    uint64_t slot : 10 = nowhere;
    int64_t signal : 8 = 0;
  };

  struct slot {
    uint32_t head = no_record;
    uint32_t count = 0;
    int64_t least = 0; ///< No timer in the slot is due before.
  };

  struct share {
    uint32_t head = no_record;
    uint32_t count = 0;
  };

  using batch = std::vector<uint32_t>;

  static uint64_t tick_of(int64_t time);
  static uint32_t digit_of(uint64_t tick, uint32_t level);
  static uint32_t hash_of(uint32_t worker, uint32_t scope);
  uint32_t find(uint32_t worker, uint32_t scope) const;
  uint32_t add(uint32_t worker, uint32_t scope);
  void remove(uint32_t number);
  void link_own(uint32_t number);
  void unlink_own(uint32_t number);
  uint32_t level_of(uint64_t tick) const;
  uint16_t slot_for(int64_t due) const;
  void put(uint32_t number, uint16_t where);
  void unput(uint32_t number);
  batch turn(uint64_t tick);
  void empty_slot(uint16_t where, batch& out);
  void line_up(batch expired);

  timer_limits limits_;
  timer_scopes scopes_;
  timer_slab<timer> timers_;
  timer_index index_;         ///< By worker and scope.
  std::vector<share> shares_; ///< By worker.
  std::array<slot, expired_slot + 1> slots_;
  std::array<uint64_t, level_count> used_{}; ///< A bit for each slot.
  uint64_t tick_ = 0;                        ///< The wheel's own time.
};

} // namespace actorrun::core
