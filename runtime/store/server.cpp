#include "runtime/store/server.hpp"

#include "messages/formatted.hpp"
#include "runtime/os/descriptor_room.hpp"
#include "runtime/os/freed_memory.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/socket.hpp"
#include "runtime/os/thread.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

namespace actorrun::detail {

namespace {

/// All workers of a large job connect at once.
constexpr int backlog = 4'096;

/// From a failure to start serving to the next attempt.
constexpr auto begin_pause = std::chrono::milliseconds{100};

constexpr size_t events_per_round_max = 256;
constexpr size_t read_size = size_t{32} * 1024;

/// A client that was just answered often asks again within this time; sleeping
/// and waking takes longer, on both sides.
constexpr auto eager_time = std::chrono::microseconds{50};

/// Of a store that was smaller than this, the memory stays for the next.
constexpr size_t returned_min = size_t{1} << 20;

void set_option(int fd, int level, int name, int value = 1) {
  // Best effort: without it the connection still works.
  ::setsockopt(fd, level, name, &value, sizeof value);
}

} // namespace

store_server::store_server(reactor& home, unique_fd socket,
                           store_server_config config)
  : home_(home), config_(std::move(config)), listener_(std::move(socket)),
    store_(std::make_unique<core::store>(config_.limits)),
    last_(client{listener_token}) {
  config_.client_count_max
    = std::min(config_.client_count_max, descriptor_shares_now().store);
}

result<std::unique_ptr<store_server>>
store_server::start(reactor& home, unique_fd socket,
                    store_server_config config) {
  auto out = std::unique_ptr<store_server>{
    new store_server{home, std::move(socket), std::move(config)}};
  const auto listener = out->listener_.get();
  // Connections of the generation before may linger at this port. While we listen
  // the option lets no other server in.
  set_option(listener, SOL_SOCKET, SO_REUSEADDR);
  // What is accepted has these from here.
  set_option(listener, IPPROTO_TCP, TCP_NODELAY);
  set_option(listener, SOL_SOCKET, SO_KEEPALIVE);
  if (::listen(listener, backlog) != 0)
    return failure{errc::cannot_listen, system_error_text(errno)};
  out->on_home([x = out.get()] { x->await_first(); });
  return out;
}

// At once where we are there: who then waits for the effect would wait for ever.
void store_server::on_home(reactor::task fn) {
  if (home_.on_thread())
    return fn();
  home_.post([alive = alive_, fn = std::move(fn)] {
    if (*alive)
      fn();
  });
}

store_server::~store_server() {
  run_and_wait(home_, [this] {
    *alive_ = false;
    home_.unwatch(listener_.get());
    home_.cancel(retry_);
  });
  if (!thread_.joinable())
    return;
  stopping_ = true;
  ::eventfd_write(wake_up_.get(), 1);
  thread_.join();
}

void store_server::stop() {
  on_home([this] {
    stopping_ = true;
    home_.unwatch(listener_.get());
    if (thread_.joinable())
      ::eventfd_write(wake_up_.get(), 1);
    else
      close_up();
  });
}

// -- the first client ---------------------------------------------------------

void store_server::await_first() {
  retry_ = 0;
  if (stopping_)
    return;
  if (has_adopted())
    return begin();
  home_.watch(listener_.get(), EPOLLIN, [this](uint32_t) { begin(); });
}

void store_server::adopt(unique_fd socket) {
  // As what we accept ourselves has them.
  set_option(socket.get(), IPPROTO_TCP, TCP_NODELAY);
  set_option(socket.get(), SOL_SOCKET, SO_KEEPALIVE);
  {
    const auto guard = std::lock_guard{adopted_mutex_};
    if (adopted_.size()
        >= std::min(store_adopted_max, config_.client_count_max))
      return;
    adopted_.push_back(std::move(socket));
  }
  on_home([this] {
    if (stopping_) {
      const auto guard = std::lock_guard{adopted_mutex_};
      adopted_.clear();
    } else if (thread_.joinable()) {
      ::eventfd_write(wake_up_.get(), 1);
    } else if (retry_ == 0) {
      begin();
    }
  });
}

bool store_server::has_adopted() {
  const auto guard = std::lock_guard{adopted_mutex_};
  return !adopted_.empty();
}

// Without a thread or a descriptor now there may be one soon; the client waits.
void store_server::begin() {
  home_.unwatch(listener_.get());
  auto done = open();
  if (done)
    done = start_thread();
  if (done)
    return;
  tell(formatted("cannot be served: {}; tries again", done.error().text));
  retry_ = home_.after(begin_pause, [this] { await_first(); });
}

result<void> store_server::open() {
  epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  wake_up_.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll_ || !wake_up_)
    return system_failure("no descriptor: " + system_error_text(errno));
  auto event = epoll_event{.events = EPOLLIN, .data = {.u64 = wake_up_token}};
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, wake_up_.get(), &event) != 0)
    return system_failure("epoll: " + system_error_text(errno));
  event.data.u64 = listener_token;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, listener_.get(), &event) != 0)
    return system_failure("epoll: " + system_error_text(errno));
  return {};
}

// It starts with the mask of its creator, which blocks all signals.
result<void> store_server::start_thread() {
  try {
    thread_ = std::thread{[this] { run(); }};
  } catch (const std::system_error& e) {
    return failure{errc::system_failure,
                   "no thread: " + start_error_text(e.code().value())};
  }
  return {};
}

// -- the thread ---------------------------------------------------------------

void store_server::run() {
  ::pthread_setname_np(::pthread_self(), "store");
  make_room();
  admit_adopted();
  while (!stopping_)
    round();
  close_up();
}

// The listener may have another descriptor, so closing ours would not do.
void store_server::close_up() {
  if (has_stopped_)
    return;
  ::shutdown(listener_.get(), SHUT_RDWR);
  set_option(listener_.get(), SOL_SOCKET, SO_REUSEADDR, 0);
  links_.clear();
  {
    const auto guard = std::lock_guard{adopted_mutex_};
    adopted_.clear();
  }
  const auto peak = store_->memory_peak();
  has_stopped_ = true;
  has_stopped_.notify_all();
  store_.reset();
  if (peak >= returned_min)
    return_freed_memory();
}

// That may take its time; better now than when all connect.
void store_server::make_room() {
  room_.resize(read_size);
  make_descriptor_room(epoll_.get(), std::min(config_.client_count_expected,
                                              config_.client_count_max));
}

void store_server::round() {
  auto events = std::array<epoll_event, events_per_round_max>{};
  const auto count = await_events(events);
  is_busy_ = count > 0;
  serve_again();
  for (auto i = 0; i < count && !stopping_; ++i) {
    const auto token = events[i].data.u64;
    if (token == listener_token)
      accept_all();
    else if (token == wake_up_token)
      admit_adopted();
    else
      on_event({token}, events[i].events);
    flush(); // Who has its answer goes on while we serve others.
  }
  decide_late();
  flush();
}

// Between two polls other threads may run.
int store_server::await_events(std::span<epoll_event> events) {
  const auto wait = [&](int timeout) {
    return ::epoll_wait(epoll_.get(), events.data(),
                        static_cast<int>(events.size()), timeout);
  };
  if (is_busy_ && again_.empty()) {
    const auto until = clock::now() + eager_time;
    do {
      if (const auto count = wait(0); count != 0)
        return count;
      ::sched_yield();
    } while (clock::now() < until);
  }
  return wait(round_timeout());
}

// In milliseconds, rounded up; -1: for as long as nothing happens.
int store_server::round_timeout() const {
  if (!again_.empty())
    return 0;
  auto due = is_accepting_ ? clock::time_point::max() : accepts_again_;
  if (!undecided_.empty())
    due = std::min(due, undecided_.front().first);
  if (due == clock::time_point::max())
    return -1;
  const auto left
    = std::chrono::ceil<std::chrono::milliseconds>(due - clock::now());
  return static_cast<int>(std::max<int64_t>(0, left.count()));
}

// What has waited for its time.
void store_server::decide_late() {
  const auto now = clock::now();
  if (!is_accepting_ && now >= accepts_again_)
    watch_listener(true);
  while (!undecided_.empty() && undecided_.front().first <= now) {
    const auto who = undecided_.front().second;
    undecided_.pop_front();
    if (links_.contains(who) && store_->is_undecided(who))
      run_effects(store_->decide(who));
  }
}

} // namespace actorrun::detail
