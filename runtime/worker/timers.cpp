#include "runtime/worker/timers.hpp"

#include "runtime/worker/actorrun_worker.h"
#include "runtime/worker/detail/timer_channel.hpp"
#include "runtime/worker/detail/timer_message.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include <pthread.h>

namespace actorrun::worker {

namespace {

constexpr int signal_max = 64;

// The FIFO's format wants the wall clock. Both ends of it read the same clock, a
// moment apart; the server turns the time into a monotonic one when it reads the
// line. So a step of the clock moves no timer that is running.
int64_t wall_time_after(std::chrono::nanoseconds after) {
  const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
                     std::chrono::system_clock::now().time_since_epoch())
                     .count();
  const auto room = std::numeric_limits<int64_t>::max() - now;
  return now + std::clamp(after.count(), -now, room);
}

/// What the program has chosen instead of the FIFO.
struct chosen_client {
  /// Whether there is one: most programs have none, and pay for no lock.
  std::atomic<bool> is_there{false};
  std::mutex mutex;
  std::shared_ptr<timer_client> client;

  std::shared_ptr<timer_client> get() {
    if (!is_there)
      return nullptr;
    const auto lock = std::lock_guard{mutex};
    return client;
  }
};

// Never destroyed: threads may set timers when the process exits.
chosen_client& client() {
  static auto& x = *[] {
    static auto* out = new chosen_client;
    ::pthread_atfork([] { out->mutex.lock(); }, [] { out->mutex.unlock(); },
                     [] { out->mutex.unlock(); });
    return out;
  }();
  return x;
}

/// @param after None: a release.
timer_status send(std::string_view scope,
                  std::optional<std::chrono::nanoseconds> after) {
  if (const auto own = client().get())
    return after ? own->acquire(scope, *after) : own->release(scope);
  auto& channel = timer_channel::instance();
  if (!channel.is_open())
    return timer_status::no_server;
  auto message = timer_message{.pid = channel.pid(), .scope = scope};
  if (after) {
    message.expiration = wall_time_after(*after);
    message.signal = channel.signal();
  }
  message_buffer place; // Not cleared: most lines are short.
  const auto line = write_message(place, message);
  return line.empty() ? timer_status::bad_argument : channel.send(line);
}

std::string name_of(const source_location& where) {
  return std::string{where.file_name()} + "#" + std::to_string(where.line());
}

} // namespace

timer_status configure(const std::string& path, int signal) {
  if (signal > signal_max)
    return timer_status::bad_argument;
  return timer_channel::instance().configure(path, signal);
}

void configure(std::shared_ptr<timer_client> x) {
  auto& to = client();
  const auto lock = std::lock_guard{to.mutex};
  to.is_there = x != nullptr;
  to.client.swap(x); // The last one ends after the lock.
}

timer_status acquire(std::string_view scope, std::chrono::nanoseconds after) {
  return send(scope, after);
}

timer_status release(std::string_view scope) {
  return send(scope, std::nullopt);
}

timer_status alive(std::string_view name, std::chrono::nanoseconds within) {
  return acquire(name, within);
}

uint64_t lost_timer_count() {
  return timer_channel::instance().lost_count();
}

// -- expires ------------------------------------------------------------------

expires::expires(std::chrono::nanoseconds after, source_location where)
  : expires(after, name_of(where)) {}

expires::expires(std::chrono::nanoseconds after, std::string_view scope)
  : scope_(scope), status_(acquire(scope_, after)) {}

expires::expires(expires&& other) noexcept
  : scope_(std::move(other.scope_)), status_(other.status_),
    is_held_(std::exchange(other.is_held_, false)) {}

expires& expires::operator=(expires&& other) noexcept {
  if (this != &other) {
    release();
    scope_ = std::move(other.scope_);
    status_ = other.status_;
    is_held_ = std::exchange(other.is_held_, false);
  }
  return *this;
}

expires::~expires() {
  release();
}

void expires::release() noexcept {
  if (std::exchange(is_held_, false))
    worker::release(scope_);
}

} // namespace actorrun::worker

// -- C ------------------------------------------------------------------------

namespace {

using actorrun::worker::timer_status;

int code_of(timer_status status) {
  switch (status) {
    case timer_status::ok:
      return ACTORRUN_TIMER_OK;
    case timer_status::no_server:
      return ACTORRUN_TIMER_NO_SERVER;
    case timer_status::lost:
      return ACTORRUN_TIMER_LOST;
    case timer_status::bad_argument:
      break;
  }
  return ACTORRUN_TIMER_BAD_ARGUMENT;
}

} // namespace

int actorrun_timer_configure(const char* path, int signal) {
  if (path == nullptr)
    return ACTORRUN_TIMER_BAD_ARGUMENT;
  return code_of(actorrun::worker::configure(path, signal));
}

int actorrun_timer_acquire(const char* scope, int64_t after_ns) {
  if (scope == nullptr)
    return ACTORRUN_TIMER_BAD_ARGUMENT;
  return code_of(
    actorrun::worker::acquire(scope, std::chrono::nanoseconds{after_ns}));
}

int actorrun_timer_release(const char* scope) {
  if (scope == nullptr)
    return ACTORRUN_TIMER_BAD_ARGUMENT;
  return code_of(actorrun::worker::release(scope));
}

int actorrun_timer_alive(const char* name, int64_t within_ns) {
  return actorrun_timer_acquire(name, within_ns);
}

uint64_t actorrun_timer_lost_count(void) {
  return actorrun::worker::lost_timer_count();
}
