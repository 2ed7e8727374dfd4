#include "runtime/os/task_thread.hpp"

#include "runtime/os/resource_limits.hpp"
#include "runtime/os/thread.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <utility>

#include <sys/prctl.h>

namespace actorrun::detail {

struct task_thread::queue {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  bool is_ending = false;
  bool has_ended = false;
};

task_thread::task_thread(const char* name, bool is_vital)
  : name_(name), is_vital_(is_vital), queue_(std::make_shared<queue>()) {
  start();
}

void task_thread::start() {
  const auto blocked = signals_blocked{};
  try {
    thread_
      = std::thread{[shared = queue_, name = name_] { run(*shared, name); }};
  } catch (const std::system_error& why) {
    if (is_vital_)
      end_for_lack_of("thread", why.code().value());
  }
}

task_thread::~task_thread() {
  end();
}

void task_thread::run(queue& from, const char* name) {
  ::prctl(PR_SET_NAME, name);
  auto lock = std::unique_lock{from.mutex};
  for (;;) {
    from.changed.wait(lock,
                      [&] { return from.is_ending || !from.tasks.empty(); });
    if (from.is_ending)
      break;
    auto task = std::move(from.tasks.front());
    from.tasks.pop_front();
    lock.unlock();
    task();
    task = {}; // Without the lock: it may own what posts.
    lock.lock();
  }
  from.has_ended = true;
  from.changed.notify_all();
}

void task_thread::post(std::function<void()> fn) {
  {
    const auto lock = std::lock_guard{queue_->mutex};
    if (!queue_->is_ending)
      queue_->tasks.push_back(std::move(fn));
  }
  queue_->changed.notify_one();
  if (!is_vital_ && !thread_.joinable())
    start();
}

bool task_thread::end(core::duration timeout) {
  if (!thread_.joinable()) {
    const auto lock = std::lock_guard{queue_->mutex};
    return queue_->has_ended;
  }
  auto dropped = std::deque<std::function<void()>>{};
  auto lock = std::unique_lock{queue_->mutex};
  queue_->is_ending = true;
  dropped.swap(queue_->tasks);
  queue_->changed.notify_all();
  const auto has_ended = queue_->changed.wait_for(
    lock, timeout, [this] { return queue_->has_ended; });
  lock.unlock();
  if (has_ended)
    thread_.join();
  else
    thread_.detach();
  return has_ended;
}

} // namespace actorrun::detail
