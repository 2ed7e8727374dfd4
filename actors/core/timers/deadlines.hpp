// Keeps deadlines by worker and scope, and finds the expired ones.
#pragma once

#include "actors/core/time.hpp"
#include "actors/core/timers/request.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actorrun::core {

/// A timer that was not released in time.
struct expired_timer {
  uint32_t worker = 0;
  std::string scope;
  time_point due;
  int signal = 0;
  duration limit{0};

  friend bool operator==(const expired_timer&, const expired_timer&) = default;
};

/// Timers in two maps, by name and by deadline. Time is what `advance` says: no
/// timer expires before. A timer needs about 200 bytes.
class timer_deadlines {
public:
  explicit timer_deadlines(timer_limits limits = {}) : limits_(limits) {}

  /// Starts a timer, or gives the one of this worker and scope a new deadline,
  /// signal and limit, which are handed back when it expires.
  /// @param worker A small number: there is a table up to the highest.
  /// @param scope  Up to `scope_text_max` bytes.
  /// @param due    Any; one that is over expires with the next `advance`.
  /// @returns false: a limit is reached and there is no such timer yet; nothing
  ///          has changed.
  /// @complexity O(log N)
  bool acquire(uint32_t worker, std::string_view scope, time_point due,
               int signal, duration limit = duration{0});

  /// Ends a timer, expired or not. O(log N).
  /// @returns whether there was one
  bool release(uint32_t worker, std::string_view scope);

  /// Ends all timers of a worker. O(K log N) for K of them.
  void clear(uint32_t worker);

  /// Finds the timers whose deadline is `now` or earlier; `take_expired` hands
  /// them out. Until then they can still be released or acquired anew.
  /// @complexity O(K log N) for K that expire
  void advance(time_point now);

  /// Ends and returns the one of those that `advance` has found that was due
  /// first; none if there is none. O(log N).
  std::optional<expired_timer> take_expired();

  bool has_expired() const { return !expired_.empty(); }

  /// The earliest deadline of those that have not expired.
  std::optional<time_point> next_due() const;

  size_t size() const { return timers_.size(); }

  /// Timers of one worker.
  size_t size_of(uint32_t worker) const;

private:
  using name = std::pair<uint32_t, std::string_view>;
  using key = std::pair<uint32_t, std::string>;
  using order = std::multimap<time_point, name>;

  struct by_name {
    using is_transparent = void;

    static name of(const name& x) { return x; }
    static name of(const key& x) { return {x.first, x.second}; }

    template <class A, class B>
    bool operator()(const A& a, const B& b) const {
      return of(a) < of(b);
    }
  };

  struct timer {
    order::iterator place{}; ///< In `expired_` or in `waiting_`.
    bool is_expired = false;
    int signal = 0;
    duration limit{0};
  };

  using timers = std::map<key, timer, by_name>;

  bool has_room(uint32_t worker, std::string_view scope) const;
  timers::iterator add(uint32_t worker, std::string_view scope, time_point due);
  order& order_of(const timer& x);
  void move(timer& x, time_point due);
  void remove(timers::iterator which);

  timer_limits limits_;
  timers timers_;
  order waiting_; ///< Their names lie in `timers_`.
  order expired_; ///< Likewise.
  size_t text_size_ = 0;
  std::vector<uint32_t> counts_; ///< By worker.
};

} // namespace actorrun::core
