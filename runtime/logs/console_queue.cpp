#include "runtime/logs/console_queue.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/os/thread.hpp"

#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

namespace actorrun::detail {

namespace {

/// All queues of this program.
struct registry {
  std::mutex mutex;
  std::vector<std::weak_ptr<console_queue>> queues;
};

registry& all() {
  static auto result = registry{};
  return result;
}

/// Whether an errno means that a disk has no room for us.
bool is_loss(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO;
}

/// For the file of a program that ends to take its last lines.
constexpr auto file_flush_limit = std::chrono::seconds{1};

std::string text_of_lost_notes(uint64_t count) {
  return formatted("\xE2\x80\xA6 {} lines of actorrun itself were lost: the "
                   "console did not take them\n",
                   count);
}

std::string text_of_loss(uint64_t bytes, int error) {
  return formatted(
    "\n\xE2\x80\xA6 {} bytes of the console's output were lost: {}\n", bytes,
    core::error_text(error));
}

} // namespace

// -- one queue per file -------------------------------------------------------

// Users hold a pointer of a kind of their own: when the last of them is gone,
// the thread, which holds the queue too, is stopped. The deleter stays as long
// as it is listed here; the queue must not.
std::shared_ptr<console_queue> console_queue::of(int fd) {
  auto target = console_target::open(fd);
  auto& known = all();
  const auto lock = std::lock_guard{known.mutex};
  std::erase_if(known.queues, [](const auto& x) { return x.expired(); });
  for (const auto& x : known.queues)
    if (auto same = x.lock(); same && same->target_.is_same(target))
      return same;
  auto queue = std::make_shared<console_queue>(std::move(target));
  queue->self_ = queue;
  auto result = std::shared_ptr<console_queue>{
    queue.get(), [queue](console_queue* x) mutable {
      x->stop();
      queue.reset();
    }};
  known.queues.push_back(result);
  return result;
}

void console_queue::stop() {
  auto thread = std::thread{};
  {
    auto lock = guard{mutex_};
    // Its own calls may be the last holder.
    if (target_.mode() == write_mode::file && thread_.joinable()
        && thread_.get_id() != std::this_thread::get_id())
      flushed_.wait_for(lock, file_flush_limit, [&] { return pending_ == 0; });
    stopping_ = true;
    changed_.notify_all();
    if (wake_up_)
      ::eventfd_write(wake_up_.get(), 1);
    thread.swap(thread_);
  }
  if (!thread.joinable())
    return;
  // It may hang in a write, and the last holder may be one of its own calls.
  if (may_wait() || thread.get_id() == std::this_thread::get_id())
    thread.detach();
  else
    thread.join();
}

bool console_queue::may_wait() const {
  return target_.mode() == write_mode::blocking
         || target_.mode() == write_mode::file;
}

// -- public functions ---------------------------------------------------------

bool console_queue::offer(std::string_view lines, size_t limit) {
  const auto lock = std::lock_guard{mutex_};
  if (closed_)
    return true;
  if (pending_ >= limit)
    return false;
  if (pending_ == 0 && !may_wait())
    lines.remove_prefix(write_through(lines));
  if (closed_ || lines.empty())
    return true;
  backlog_ += lines;
  pending_ += lines.size();
  wake_thread();
  return true;
}

void console_queue::note(std::string_view lines) {
  if (offer(lines, console_backlog_max + console_reserve))
    return;
  const auto lock = std::lock_guard{mutex_};
  ++lost_note_count_;
}

void console_queue::call_when_ready(const void* who, task fn) {
  const auto lock = std::lock_guard{mutex_};
  on_ready_[who] = std::move(fn);
  wake_thread();
}

void console_queue::forget(const void* who) {
  const auto lock = std::lock_guard{mutex_};
  on_ready_.erase(who);
}

bool console_queue::is_closed() const {
  const auto lock = std::lock_guard{mutex_};
  return closed_;
}

bool console_queue::is_flushed() const {
  const auto lock = std::lock_guard{mutex_};
  return pending_ == 0;
}

void console_queue::call_when_flushed(task fn) {
  const auto lock = std::lock_guard{mutex_};
  on_flushed_.push_back(std::move(fn));
  wake_thread();
}

bool console_queue::flush(core::time_point due,
                          const std::atomic<bool>& gave_up) {
  auto lock = guard{mutex_};
  flushed_.wait_until(lock, due, [&] { return pending_ == 0 || gave_up; });
  return pending_ == 0;
}

void console_queue::interrupt() {
  const auto lock = std::lock_guard{mutex_};
  flushed_.notify_all();
}

// -- writing ------------------------------------------------------------------

// In the caller's thread; the rest is for the other one.
size_t console_queue::write_through(std::string_view lines) {
  if (lost_bytes_ > 0 && !write_loss()) {
    lost_bytes_ += lines.size();
    return lines.size();
  }
  auto done = target_.write(lines);
  if (done.error == EAGAIN && !std::exchange(enlarged_, true)) {
    target_.enlarge();
    const auto more = target_.write(lines.substr(done.bytes));
    done = {done.bytes + more.bytes, more.error};
  }
  if (done.error == 0 || done.error == EAGAIN)
    return done.bytes;
  if (target_.mode() == write_mode::direct && is_loss(done.error)) {
    loss_ = done.error;
    lost_bytes_ += lines.size() - done.bytes;
  } else {
    close();
  }
  return lines.size();
}

// Begins a new line, even if the last one is incomplete.
bool console_queue::write_loss() {
  const auto text = text_of_loss(lost_bytes_, loss_);
  if (target_.write(text).error != 0)
    return false;
  lost_bytes_ = 0;
  return true;
}

// The same in our own thread.
bool console_queue::write_loss(guard& lock) {
  const auto told = lost_bytes_;
  const auto text = text_of_loss(told, loss_);
  lock.unlock();
  const auto done = target_.write(text);
  lock.lock();
  if (done.error != 0)
    return false;
  lost_bytes_ -= told;
  return true;
}

void console_queue::lose(size_t bytes, int error) {
  loss_ = error;
  lost_bytes_ += bytes;
  pending_ -= bytes;
  if (pending_ == 0)
    flushed_.notify_all();
}

void console_queue::close() {
  closed_ = true;
  backlog_.clear();
  writing_.clear();
  pending_ = 0;
  lost_note_count_ = 0;
  flushed_.notify_all();
}

// Without a thread, the backlog is written with the next offer that can start
// one, or here if it is taken at once: this program goes on although the system has
// no thread left, and can say so.
void console_queue::wake_thread() {
  if (thread_.joinable()) {
    changed_.notify_one();
    return;
  }
  if (!wake_up_)
    wake_up_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const auto blocked = signals_blocked{}; // It must not get SIGPIPE.
  try {
    thread_ = std::thread{[self = self_.lock()] { self->run(); }};
  } catch (const std::system_error&) {
    write_without_thread();
  }
}

void console_queue::write_without_thread() {
  auto entry
    = pollfd{.fd = target_.descriptor(), .events = POLLOUT, .revents = 0};
  if (backlog_.empty() || ::poll(&entry, 1, 0) <= 0)
    return;
  const auto size = write_through(backlog_);
  if (closed_)
    return;
  backlog_.erase(0, size);
  pending_ -= size;
  if (pending_ == 0)
    flushed_.notify_all();
}

void console_queue::run() {
  ::prctl(PR_SET_NAME, "actorrun-output");
  auto lock = guard{mutex_};
  while (!stopping_) {
    if (!backlog_.empty())
      write_backlog(lock);
    else if (has_due_calls())
      make_due_calls(lock);
    else
      changed_.wait(lock);
  }
}

// Others may append meanwhile, so the lock is open while we write.
void console_queue::write_backlog(guard& lock) {
  writing_.swap(backlog_);
  if (lost_bytes_ > 0 && may_wait() && !write_loss(lock)) {
    lose(writing_.size(), loss_);
    writing_.clear();
  }
  for (size_t done = 0; done < writing_.size() && !stopping_;) {
    lock.unlock();
    const auto x = target_.write(std::string_view{writing_}.substr(done));
    lock.lock();
    done += x.bytes;
    pending_ -= x.bytes;
    if (pending_ == 0)
      flushed_.notify_all();
    if (x.error == EAGAIN) {
      make_due_calls(lock);
      lock.unlock();
      wait_for_room();
      lock.lock();
    } else if (target_.mode() == write_mode::file && is_loss(x.error)) {
      lose(writing_.size() - done, x.error);
      break;
    } else if (x.error != 0) {
      close();
    }
  }
  writing_.clear();
}

void console_queue::wait_for_room() const {
  pollfd fds[] = {{.fd = target_.descriptor(), .events = POLLOUT, .revents = 0},
                  {.fd = wake_up_.get(), .events = POLLIN, .revents = 0}};
  ::poll(fds, 2, -1);
}

bool console_queue::has_due_calls() const {
  return (pending_ <= console_ready_max
          && (lost_note_count_ > 0 || !on_ready_.empty()))
         || (pending_ == 0 && !on_flushed_.empty());
}

// Callers may call anything here, so the lock is open meanwhile.
void console_queue::make_due_calls(guard& lock) {
  auto due = std::vector<task>{};
  if (pending_ <= console_ready_max) {
    if (lost_note_count_ > 0) {
      const auto text = text_of_lost_notes(std::exchange(lost_note_count_, 0));
      backlog_ += text;
      pending_ += text.size();
    }
    for (auto& [who, fn] : std::exchange(on_ready_, {}))
      due.push_back(std::move(fn));
  }
  if (pending_ == 0)
    for (auto& fn : std::exchange(on_flushed_, {}))
      due.push_back(std::move(fn));
  lock.unlock();
  for (const auto& fn : due)
    fn();
  due.clear();
  lock.lock();
}

} // namespace actorrun::detail
