// Writes whole lines to the console without blocking.
#pragma once

#include "actors/core/workers/worker_outputs.hpp"

#include <functional>
#include <string_view>

namespace actorrun::ports {

/// Standard output and standard error of this program, for lines from several
/// threads. Lines of one stream appear in the order in which they were taken,
/// and no line within another. If both streams are the same file, they share
/// one order.
class console {
public:
  virtual ~console() = default;

  /// Never blocks, whatever reads the other end.
  /// @param lines Whole lines, each with its line end; any size.
  /// @returns true: all of it was taken, and will be written even if not at
  ///          once; also when the stream is closed and the lines go nowhere.
  ///          False: nothing was taken, too much waits already.
  virtual bool offer(core::output_stream stream, std::string_view lines) = 0;

  /// Calls `fn` once, on a thread of its own, when `offer` is worth another try
  /// (at once if it is already). The last call per stream counts.
  virtual void call_when_ready(core::output_stream stream,
                               std::function<void()> fn)
    = 0;

  /// True when the stream has no reader any more: lines go nowhere.
  virtual bool is_closed(core::output_stream stream) const = 0;
};

} // namespace actorrun::ports
