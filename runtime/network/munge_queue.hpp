// Queues handshakes' calls of munge(7) for a thread that may block, so that the
// reactor never does.
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"
#include "runtime/os/munge.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/task_thread.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace actorrun::detail {

/// At most this many calls wait; a daemon that hangs blocks each for ten seconds.
inline constexpr size_t munge_queue_max = 256;

/// The daemon has not answered in time.
failure munge_hangs();

/// A task whose answer is waited for. On the reactor's thread only. Its destructor
/// abandons the answer.
class munge_call {
public:
  using callback = std::function<void(result<std::string>)>;
  struct question;

  explicit munge_call(std::shared_ptr<question> x) : question_(std::move(x)) {}
  munge_call(munge_call&&) noexcept = default;
  munge_call& operator=(munge_call&&) noexcept;
  ~munge_call() { abandon(); }

private:
  void abandon();

  std::shared_ptr<question> question_;
};

/// Has texts sealed for our own user, and opens what our own user has sealed. Any
/// thread may call. Starts its thread with the first task.
class munge_queue {
public:
  explicit munge_queue(std::shared_ptr<munge_service> munge = munge_of_host());

  /// Calls `on_done` once, on the reactor's thread and never before this returns,
  /// with the credential or with the text; it may destroy the call.
  /// @retval as `munge_service`; `errc::user_mismatch` also if another user has
  ///         sealed it; `errc::connection_failed` if too many wait
  [[nodiscard]] munge_call ask(reactor& home, munge_task task,
                               munge_call::callback on_done);

  /// Does a task while the caller waits.
  /// @retval as above; `errc::connection_failed` after `timeout`
  result<std::string> wait_for(munge_task task, core::duration timeout);

  /// Whether munge works here: it says who we are, and seals a text for us.
  /// @retval as `wait_for`
  result<void> check(core::duration timeout);

private:
  struct desk;

  task_thread& thread();

  std::shared_ptr<desk> desk_; ///< Tasks share it.
  std::mutex mutex_;
  std::optional<task_thread> thread_; ///< Guarded by mutex_, until it is there.
};

} // namespace actorrun::detail
