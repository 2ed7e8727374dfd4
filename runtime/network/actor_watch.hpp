// Notices that an actor has ended unexpectedly: by an exception, by lack of
// memory, or by a message.
#pragma once

#include <caf/deep_to_string.hpp>
#include <caf/error.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace actorrun::detail {

class actor_watch {
public:
  /// Takes the reason, in CAF's words.
  using callback = std::function<void(const std::string& reason)>;

  actor_watch() = default;

  /// @param on_end Called at most once, on any thread.
  template <class Handle>
  actor_watch(const Handle& who, callback on_end)
    : post_(std::make_shared<post>()) {
    post_->on_end = std::move(on_end);
    who->attach_functor([x = post_](const caf::error& reason) {
      const auto guard = std::lock_guard{x->mutex};
      if (x->on_end)
        x->on_end(caf::deep_to_string(reason));
    });
  }

  actor_watch(actor_watch&&) noexcept = default;
  actor_watch& operator=(actor_watch&&) noexcept = default;
  ~actor_watch() { release(); }

  /// From now on the actor may end. Waits for a call that is under way, so hold
  /// no lock that the callback takes.
  void release() {
    if (!post_)
      return;
    const auto guard = std::lock_guard{post_->mutex};
    post_->on_end = nullptr;
  }

private:
  struct post {
    std::mutex mutex;
    callback on_end; ///< Empty: there is no watch.
  };

  std::shared_ptr<post> post_;
};

} // namespace actorrun::detail
