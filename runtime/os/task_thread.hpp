// Owns a thread for what may block, such as calls of a file system that hangs.
#pragma once

#include "actors/core/time.hpp"
#include "actors/ports/blocking_tasks.hpp"

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>

namespace actorrun::detail {

/// Runs tasks, one at a time and in order, on one thread that takes no signals
/// and lives as long as the object: a death signal of a child that it starts is
/// bound to it.
class task_thread final : public ports::blocking_tasks {
public:
  /// Timeout for the running task at the end.
  static constexpr auto end_max = std::chrono::seconds{1};

  /// Starts the thread.
  /// @param name Shown by tools; at most 15 bytes.
  /// @param is_vital If the system has no thread left, this program ends. Else tasks
  ///                 wait for the next `post` that gets one; it is not called by
  ///                 several threads at once then.
  explicit task_thread(const char* name, bool is_vital = true);

  /// Ends the thread; see `end`.
  ~task_thread() override;

  task_thread(const task_thread&) = delete;
  task_thread& operator=(const task_thread&) = delete;

  void post(std::function<void()> fn) override;

  /// Posts `fn` and waits for it.
  /// @param fn Owns what it needs: after `timeout` the caller goes on without it.
  /// @pre not called by a task
  /// @returns what it returned; none if it, or a task before it, hangs
  template <class F>
  auto ask(core::duration timeout, F fn)
    -> std::optional<std::invoke_result_t<F>> {
    auto task = std::make_shared<std::packaged_task<std::invoke_result_t<F>()>>(
      std::move(fn));
    auto answer = task->get_future();
    post([task] { (*task)(); });
    if (answer.wait_for(timeout) != std::future_status::ready)
      return std::nullopt;
    return answer.get();
  }

  /// Destroys, on the caller's thread, the tasks that have not begun, and waits
  /// for the one that has. One that hangs is left alone with its thread.
  /// @pre not called by a task
  /// @returns false if a task hangs
  bool end(core::duration timeout = end_max);

private:
  struct queue;
  static void run(queue& from, const char* name);
  void start();

  const char* name_;
  bool is_vital_;
  std::shared_ptr<queue> queue_; ///< The thread shares it.
  std::thread thread_;
};

} // namespace actorrun::detail
