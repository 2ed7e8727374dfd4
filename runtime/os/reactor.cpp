#include "runtime/os/reactor.hpp"

#include "runtime/os/resource_limits.hpp"
#include "runtime/os/thread.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <system_error>
#include <utility>

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

namespace actorrun::detail {

namespace {

/// Most events fetched by one system call; more wait for the next round.
constexpr size_t events_per_round_max = 512;

/// The token of the eventfd; watches count from 1.
constexpr uint64_t wake_up_token = 0;

/// After an event that could not have come later, others are likely.
constexpr auto busy_time = std::chrono::milliseconds{100};

thread_local const reactor* current = nullptr;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::abort();
}

void control(const unique_fd& epoll, int operation, int fd, uint32_t events,
             uint64_t token) {
  auto event = epoll_event{.events = events, .data = {.u64 = token}};
  if (::epoll_ctl(epoll.get(), operation, fd, &event) != 0)
    die("actorrun: reactor: epoll_ctl");
}

} // namespace

reactor::reactor()
  : epoll_(::epoll_create1(EPOLL_CLOEXEC)),
    wake_up_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!epoll_ || !wake_up_)
    end_for_lack_of("descriptor", errno);
  control(epoll_, EPOLL_CTL_ADD, wake_up_.get(), EPOLLIN, wake_up_token);
  // A thread starts with its creator's mask, so no signal can arrive in
  // between.
  const auto blocked = signals_blocked{};
  try {
    thread_ = std::thread{[this] { run(); }};
  } catch (const std::system_error& why) {
    end_for_lack_of("thread", why.code().value());
  }
}

reactor::~reactor() {
  assert(!on_thread());
  {
    const auto lock = std::lock_guard{mutex_};
    stopping_ = true;
  }
  ::eventfd_write(wake_up_.get(), 1);
  thread_.join();
}

void reactor::post(task fn) {
  auto first = false;
  {
    const auto lock = std::lock_guard{mutex_};
    first = tasks_.empty();
    tasks_.push_back(std::move(fn));
  }
  // Every wake-up takes all tasks, so the first of them brings the rest along.
  if (first)
    ::eventfd_write(wake_up_.get(), 1);
}

bool reactor::on_thread() const {
  return current == this;
}

void reactor::watch(int fd, uint32_t events, handler fn) {
  assert(on_thread());
  assert(!tokens_.contains(fd));
  const auto token = ++last_token_;
  control(epoll_, EPOLL_CTL_ADD, fd, events, token);
  tokens_.emplace(fd, token);
  auto x = std::make_shared<watched>(watched{std::move(fn), fd, events});
  hurry(EPOLL_CTL_ADD, fd, events);
  watches_.emplace(token, std::move(x));
}

void reactor::rewatch(int fd, uint32_t events) {
  assert(on_thread());
  const auto i = tokens_.find(fd);
  assert(i != tokens_.end());
  control(epoll_, EPOLL_CTL_MOD, fd, events, i->second);
  auto& x = *watches_.at(i->second);
  x.events = events;
  hurry(EPOLL_CTL_MOD, fd, hurried_events(x));
}

void reactor::unwatch(int fd) {
  assert(on_thread());
  const auto i = tokens_.find(fd);
  if (i == tokens_.end())
    return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  hurry(EPOLL_CTL_DEL, fd, 0);
  const auto x = watches_.extract(i->second);
  x.mapped()->fd = -1;
  tokens_.erase(i);
}

// The end of a connection's input is proof that something has changed, and in a pause
// nothing else would tell: so it is waited for where input is not.
uint32_t reactor::hurried_events(const watched& x) {
  const auto waits_for_input = (x.events & EPOLLIN) != 0;
  return x.is_unhurried && waits_for_input
           ? (x.events & ~uint32_t{EPOLLIN}) | EPOLLRDHUP
           : x.events;
}

// It only saves time, so without it there are no pauses, and that is all.
void reactor::hurry(int operation, int fd, uint32_t events) {
  auto event = epoll_event{.events = events, .data = {}};
  if (hurried_ && ::epoll_ctl(hurried_.get(), operation, fd, &event) != 0)
    hurried_.reset();
}

// Most reactors never make a pause, and need not pay for it.
void reactor::begin_pauses() {
  hurried_ = unique_fd{::epoll_create1(EPOLL_CLOEXEC)};
  hurry(EPOLL_CTL_ADD, wake_up_.get(), EPOLLIN);
  for (const auto& [token, x] : watches_)
    hurry(EPOLL_CTL_ADD, x->fd, hurried_events(*x));
}

reactor::timer reactor::after(core::duration delay, task fn) {
  assert(on_thread());
  const auto id = ++last_timer_;
  const auto due = std::chrono::steady_clock::now() + delay;
  timers_.emplace(std::pair{due, id}, std::move(fn));
  due_.emplace(id, due);
  return id;
}

void reactor::cancel(timer id) {
  assert(on_thread());
  const auto i = due_.find(id);
  if (i == due_.end())
    return;
  timers_.erase(std::pair{i->second, id});
  due_.erase(i);
}

void reactor::at_end_of_round(task fn) {
  assert(on_thread());
  end_of_round_.push_back(std::move(fn));
}

void reactor::could_wait(core::duration pause) {
  assert(on_thread() && current_ != nullptr);
  using ms = std::chrono::milliseconds;
  const auto time
    = static_cast<int>(std::chrono::duration_cast<ms>(pause).count());
  if (time <= 0)
    return;
  pause_ms_ = unhurried_count_ == 0 ? time : std::min(pause_ms_, time);
  ++unhurried_count_;
  auto& x = *current_;
  if (x.fd == -1 || std::exchange(x.is_unhurried, true))
    return;
  if (hurried_)
    hurry(EPOLL_CTL_MOD, x.fd, hurried_events(x));
  else
    begin_pauses();
}

void reactor::run() {
  current = this;
  ::prctl(PR_SET_NAME, "actorrun-events");
  for (auto more = true; more;) {
    pause();
    wait_and_dispatch();
    run_timers();
    more = run_tasks();
    run_end_of_round();
  }
}

void reactor::pause() {
  const auto longest = std::exchange(pause_ms_, 0);
  if (longest == 0 || !hurried_)
    return;
  const auto due = sleep_ms();
  auto ignored = epoll_event{}; // It comes again in the round.
  ::epoll_wait(hurried_.get(), &ignored, 1,
               due < 0 ? longest : std::min(due, longest));
}

void reactor::wait_and_dispatch() {
  std::array<epoll_event, events_per_round_max> ready;
  const auto count = ::epoll_wait(epoll_.get(), ready.data(),
                                  static_cast<int>(ready.size()), sleep_ms());
  if (count < 0 && errno != EINTR)
    die("actorrun: reactor: epoll_wait");
  unhurried_count_ = 0;
  for (auto i = 0; i < count; ++i)
    dispatch(ready[i].data.u64, ready[i].events);
  const auto is_full = count == static_cast<int>(ready.size());
  if (unhurried_count_ < count)
    calm_from_ = std::chrono::steady_clock::now() + busy_time;
  else if (count > 0 && !is_full
           && std::chrono::steady_clock::now() >= calm_from_)
    return;
  pause_ms_ = 0;
}

// A token is never used again, so an event fetched for a watch that has ended
// meanwhile finds nothing, even if its descriptor number lives on.
void reactor::dispatch(uint64_t token, uint32_t events) {
  if (token == wake_up_token) {
    auto ignored = eventfd_t{};
    ::eventfd_read(wake_up_.get(), &ignored);
    return;
  }
  const auto i = watches_.find(token);
  if (i == watches_.end())
    return;
  const auto x = i->second;
  current_ = x.get();
  x->call(events);
  current_ = nullptr;
}

// Runs the present tasks; what these post waits for the next round. Returns
// whether to go on.
bool reactor::run_tasks() {
  auto tasks = std::deque<task>{};
  {
    const auto lock = std::lock_guard{mutex_};
    tasks.swap(tasks_);
  }
  for (auto& fn : tasks)
    fn();
  const auto lock = std::lock_guard{mutex_};
  return !stopping_ || !tasks_.empty();
}

void reactor::run_timers() {
  if (timers_.empty())
    return;
  // A timer armed by one of these with no delay waits for the next round.
  const auto last = last_timer_;
  const auto now = std::chrono::steady_clock::now();
  auto i = timers_.begin();
  while (i != timers_.end() && i->first.first <= now) {
    if (i->first.second > last) {
      ++i;
      continue;
    }
    const auto fn = std::move(i->second);
    due_.erase(i->first.second);
    timers_.erase(i);
    fn();
    i = timers_.begin(); // The call may have cancelled any of them.
  }
}

void reactor::run_end_of_round() {
  while (!end_of_round_.empty()) {
    auto tasks = std::exchange(end_of_round_, {});
    for (auto& fn : tasks)
      fn();
  }
}

int reactor::sleep_ms() const {
  if (timers_.empty())
    return -1;
  using ms = std::chrono::milliseconds;
  const auto now = std::chrono::steady_clock::now();
  const auto delay = std::chrono::ceil<ms>(timers_.begin()->first.first - now);
  return static_cast<int>(std::clamp<int64_t>(delay.count(), 0, INT_MAX));
}

readiness::readiness(reactor& loop, int fd)
  : loop_(loop), fd_(fd), alive_(std::make_shared<bool>(true)) {}

readiness::~readiness() {
  run_and_wait(loop_, [this] {
    *alive_ = false;
    loop_.unwatch(fd_);
  });
}

void readiness::call_once(std::function<void()> fn) {
  loop_.post([this, alive = alive_, fn = std::move(fn)]() mutable {
    if (*alive && !call_)
      arm(std::move(fn));
  });
}

void readiness::arm(std::function<void()> fn) {
  call_ = std::move(fn);
  if (std::exchange(is_watched_, true))
    loop_.rewatch(fd_, EPOLLIN | EPOLLONESHOT);
  else
    loop_.watch(fd_, EPOLLIN | EPOLLONESHOT, [this](uint32_t) { on_ready(); });
}

void readiness::on_ready() {
  if (const auto fn = std::exchange(call_, {}))
    fn();
}

reactor_handle::reactor_handle(reactor& home,
                               std::shared_ptr<reactor_part> part)
  : home_(&home), part_(std::move(part)) {
  home.post([started = part_] { started->start(); });
}

reactor_handle& reactor_handle::operator=(reactor_handle&& other) noexcept {
  if (this != &other) {
    reset();
    home_ = other.home_;
    part_ = std::move(other.part_);
  }
  return *this;
}

void reactor_handle::reset() {
  const auto part = std::exchange(part_, nullptr);
  if (part)
    run_and_wait(*home_, [&] { part->stop(); });
}

void run_and_wait(reactor& home, const reactor::task& fn) {
  if (home.on_thread()) {
    fn();
    return;
  }
  auto done = std::promise<void>{};
  home.post([&] {
    fn();
    done.set_value();
  });
  done.get_future().wait();
}

} // namespace actorrun::detail
