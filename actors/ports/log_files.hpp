// Reads, rotates and watches the files that workers write.
#pragma once

#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace actorrun::ports {

/// One file that is followed; never used again.
using log_file_id = strong_id<struct log_file_tag, uint64_t>;

/// Files that workers append to. Calls are made by one actor, one at a time,
/// and return at once as far as the file system does.
class log_files {
public:
  virtual ~log_files() = default;

  /// Opens a file that exists or is about to: one that is not there yet is made.
  /// @retval errc::log_failed  it cannot be opened; the text says why
  virtual result<log_file_id> open(const std::string& path) = 0;

  /// Reads what there is at `offset`.
  /// @returns bytes read, 0..`into.size()`; 0: nothing is there yet. A file that
  ///          became shorter than `offset` gives 0, too.
  virtual size_t read(log_file_id file, uint64_t offset, std::span<char> into)
    = 0;

  virtual uint64_t size(log_file_id file) const = 0;

  /// Calls `fn` once, on a thread of its own, after the next write to the file
  /// that follows this call. What was written before does not count: read once
  /// more after arming. While it is not armed, a write costs the worker nothing.
  virtual void call_when_grown(log_file_id file, std::function<void()> fn) = 0;

  /// Moves the oldest bytes of the file, up to `limit`, into `<path>.1`, what
  /// was there into `<path>.2`, and so on up to `keep`. No byte is lost,
  /// even if a worker writes meanwhile.
  /// @returns by how much offsets have become smaller; may be 0 although the
  ///          bytes were moved, where the file system only makes holes
  /// @retval errc::log_failed  nothing was moved; the text says why
  virtual result<uint64_t> rotate(log_file_id file, uint64_t limit,
                                  uint32_t keep)
    = 0;

  /// Gives back the space of the bytes before `limit`: they are lost.
  /// @returns by how much offsets have become smaller
  virtual uint64_t discard(log_file_id file, uint64_t limit) = 0;

  /// True when the file system of this file is about to be full.
  virtual bool is_short_of_space(log_file_id file) const = 0;

  /// Appends lines to a file of our own; made if missing. What does not fit is
  /// lost and counted by the caller.
  /// @returns false when it could not be written
  virtual bool append(const std::string& path, std::string_view lines) = 0;

  virtual void close(log_file_id file) = 0;
};

} // namespace actorrun::ports
