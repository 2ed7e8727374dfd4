// Decides which stream is read next, and how long the others wait.
#pragma once

#include "actors/core/time.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

namespace actorrun::core {

/// How soon a stream that has grown is looked at again: the more it brings, the
/// sooner. A notice instead would cost its writer time at every write.
struct poll_limits {
  /// Polls fall on multiples of it, so that many streams share one wake-up.
  std::chrono::milliseconds shortest{2};
  std::chrono::milliseconds longest{16};
  size_t little = 16 * 1024; ///< Bytes; fewer, and the interval doubles.
};

/// Streams in round robin.
///
///     ready ──next──► being read ──read_some, more──────► ready
///                         │ ──────read_some, not more──► waits, until due
///                         └───────read_nothing─────────► waits, until woken
class tail_schedule {
public:
  using stream_id = uint64_t;

  explicit tail_schedule(poll_limits limits = {}) : limits_(limits) {}

  /// @param due When the stream is to be looked at first; none: it is ready.
  /// @pre the id is new
  void add(stream_id id, std::optional<time_point> due = {});
  void remove(stream_id id);

  /// Makes a stream that waits ready.
  void wake(stream_id id);
  /// Makes it ready and first, until all it has is read.
  void hurry(stream_id id);

  /// The next stream that is ready: it is being read until one of the calls
  /// below says what came of it. None: nothing is ready.
  std::optional<stream_id> next(time_point now);

  /// @param byte_count New bytes. @param has_more More are known to be there.
  void read_some(stream_id id, size_t byte_count, bool has_more,
                 time_point now);
  /// There was nothing.
  /// @param again When to look anyway, if nothing wakes it earlier.
  void read_nothing(stream_id id, std::optional<time_point> again = {});

  /// Whether `next` would give a stream.
  bool is_ready(time_point now) const;

  /// When a stream will be ready by itself; none: no time is known.
  std::optional<time_point> due() const;

private:
  enum class place : uint8_t { ready, being_read, waiting };

  struct entry {
    place where = place::ready;
    bool is_urgent = false;
    std::chrono::milliseconds interval{0}; ///< Of the last poll; 0: none.
    std::optional<time_point> due{};       ///< Where it waits.
  };

  void make_ready(stream_id id, entry& x);
  void wait(stream_id id, entry& x, std::optional<time_point> until);
  time_point on_grid(time_point x) const;
  void forget_due(stream_id id, entry& x);

  poll_limits limits_;
  std::unordered_map<stream_id, entry> entries_;
  std::deque<stream_id> ready_;
  std::deque<stream_id> urgent_;
  std::set<std::pair<time_point, stream_id>> due_;
};

} // namespace actorrun::core
