// Decides when a log file is rotated, and what is discarded when its disk is
// full.
#pragma once

#include "actors/core/time.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace actorrun::core {

/// A file that could not be rotated is left alone for so long.
inline constexpr auto rotation_pause = std::chrono::seconds{60};

/// How often to ask whether a disk is full while data flows …
inline constexpr auto space_interval = std::chrono::milliseconds{100};

/// … and while only the workers write, because the console is not read.
inline constexpr auto space_interval_blocked = std::chrono::seconds{1};

/// The last so many bytes of a file stay even on a full disk, because the cause
/// of a death is often found there.
inline constexpr uint64_t discard_keeps = 64 * 1024;

/// Fewer bytes are not worth giving up.
inline constexpr uint64_t discard_min = 64 * 1024;

/// A file that is followed; offsets count the bytes ever written.
struct log_extent {
  uint64_t base = 0;    ///< All before has left the file.
  uint64_t free_to = 0; ///< All before has been shown, or never will be.
  uint64_t end = 0;
};

/// Whether a file has reached the size at which it is rotated; 0: never.
constexpr bool is_due_for_rotation(const log_extent& x, uint64_t rotate_size) {
  return rotate_size > 0 && x.free_to - x.base >= rotate_size;
}

/// Bytes to give up.
struct discard_choice {
  size_t index = 0;       ///< Of the file.
  uint64_t limit = 0;     ///< All before it.
  bool is_unseen = false; ///< The console has not shown all of them.
};

/// Chooses what to discard on a full disk: of the file with most of it, what
/// has been shown; only if that is too little everywhere, the older half of
/// what has not.
/// @returns none if no file has as much as `discard_min`
/// @complexity O(N) for N files.
std::optional<discard_choice> choose_discard(std::span<const log_extent> files);

/// Counts discarded bytes, and decides when to check the disk and when to report.
class space_ledger {
public:
  bool may_ask(time_point now) const { return now >= next_; }
  /// @param is_flowing Whether bytes were read since the last time.
  void asked(time_point now, bool is_flowing);
  time_point next() const { return next_; }

  void gave_up(uint64_t byte_count) { byte_count_ += byte_count; }
  uint64_t byte_count() const { return byte_count_; }

  /// True once, when the first bytes have been given up.
  bool is_news();
  /// True if there are more than were last reported.
  bool is_more_than_reported();

private:
  time_point next_{};
  uint64_t byte_count_ = 0;
  uint64_t reported_count_ = 0;
};

} // namespace actorrun::core
