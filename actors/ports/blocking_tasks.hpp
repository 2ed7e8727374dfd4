// Runs what may block, such as calls of a file system that hangs.
#pragma once

#include <functional>

namespace actorrun::ports {

class blocking_tasks {
public:
  virtual ~blocking_tasks() = default;

  /// Runs `fn` later, after all earlier posts, never on the caller's thread. Any
  /// thread may call. `fn` must own what it uses: if it hangs, its poster may be
  /// gone before it ends.
  virtual void post(std::function<void()> fn) = 0;
};

} // namespace actorrun::ports
