// Reads what workers write to the timer server, and identifies the writing
// processes.
#pragma once

#include "actors/core/time.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

namespace actorrun::ports {

/// Bytes that any number of processes write, in torch's lines. Calls are made
/// by one actor, one at a time, and return at once.
class timer_source {
public:
  virtual ~timer_source() = default;

  /// Takes what there is.
  /// @returns bytes read, 0..`into.size()`; 0: nothing is there now
  virtual size_t read(std::span<char> into) = 0;

  /// How many bytes wait to be read.
  virtual size_t size() const = 0;

  /// Whether a process that writes a line may have to wait for room.
  virtual bool is_full() const = 0;

  /// The wall clock minus the monotonic one, now.
  virtual core::duration wall_offset() const = 0;

  /// Calls `fn` once, on a thread of its own, when there is something to read;
  /// soon, if there is something already. A second call before that does
  /// nothing.
  virtual void call_when_ready(std::function<void()> fn) = 0;
};

/// A datagram as sd_notify(3) sends them.
struct notice {
  int64_t sender = 0;    ///< The sending process, as the system says.
  std::string_view text; ///< Valid until the next call.
};

/// Notices that processes send about themselves. Called like a `timer_source`.
class notice_source {
public:
  virtual ~notice_source() = default;

  /// Takes the next one; none if there is none now.
  virtual std::optional<notice> next() = 0;

  /// As that of a `timer_source`.
  virtual void call_when_ready(std::function<void()> fn) = 0;
};

/// Finds the worker that a process belongs to. Any thread may call.
class session_members {
public:
  virtual ~session_members() = default;

  /// The child of this program in whose session a process is: a worker, or one
  /// that is about to be known as one.
  /// @returns its pid, perhaps `pid` itself; none if the process has gone, or
  ///          belongs to none of our children
  virtual std::optional<int64_t> worker_of(int64_t pid) = 0;

  /// When a process began, in a unit of the system: distinguishes two processes
  /// that have had the same pid.
  /// @returns none if it has ended
  virtual std::optional<uint64_t> birth_of(int64_t pid) = 0;
};

} // namespace actorrun::ports
