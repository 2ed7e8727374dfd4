#include "runtime/worker/detail/control_link.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <utility>
#include <vector>

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

namespace actorrun::worker {

namespace {

using namespace std::chrono_literals;

/// While a generation that is over has not been left, hooks are called again so
/// often: the program may have begun to wait for a peer after the first call.
constexpr auto hook_interval = 250ms;

/// An agent that has so many connections waiting answers none in time.
constexpr auto connect_timeout_s = 10;

/// A word that must arrive looks again so often whether it still can.
constexpr auto room_interval_ms = 100;

struct process_hooks {
  std::mutex mutex;
  std::vector<std::function<void(std::string_view)>> all;
};

// Never destroyed, as the next: threads may use them when the process exits.
process_hooks& hooks() {
  static auto& x = *new process_hooks;
  return x;
}

/// All links of the process, for forks.
struct process_links {
  std::mutex mutex;
  std::vector<control_link*> all;
};

process_links& links() {
  static auto& x = *new process_links;
  return x;
}

int connect_to(const std::string& path) {
  auto address = sockaddr_un{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    return -1;
  path.copy(address.sun_path, path.size());
  const auto fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  const auto limit = timeval{.tv_sec = connect_timeout_s, .tv_usec = 0};
  if (fd >= 0)
    ::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  while (fd >= 0
         && ::connect(fd, reinterpret_cast<const sockaddr*>(&address),
                      sizeof address)
              != 0)
    if (errno != EINTR) {
      ::close(fd);
      return -1;
    }
  return fd;
}

// A wait of any length must not overflow the clock.
control_link::clock::time_point moment_after(control_link::clock::duration x) {
  constexpr auto longest = control_link::clock::duration{24h * 365};
  return control_link::clock::now() + std::min(x, longest);
}

} // namespace

// -- the process --------------------------------------------------------------

std::shared_ptr<control_link> control_link::open(const std::string& path) {
  static const auto once
    = ::pthread_atfork(&before_fork, &after_fork, &in_child);
  (void)once;
  const auto fd = connect_to(path);
  if (fd < 0)
    return nullptr;
  auto out = std::shared_ptr<control_link>{new control_link{fd}};
  out->say(hello_packet());
  out->start(out);
  return out;
}

void control_link::add_hook(std::function<void(std::string_view)> hook) {
  auto& x = hooks();
  const auto lock = std::lock_guard{x.mutex};
  x.all.push_back(std::move(hook));
}

control_link::control_link(int fd) : fd_(fd) {
  const auto lock = std::lock_guard{links().mutex};
  links().all.push_back(this);
}

control_link::~control_link() {
  {
    const auto lock = std::lock_guard{links().mutex};
    std::erase(links().all, this);
  }
  if (const auto fd = fd_.exchange(-1); fd >= 0)
    ::close(fd);
}

// The child could not use what another thread holds.
void control_link::before_fork() {
  hooks().mutex.lock();
  links().mutex.lock();
  for (auto* x : links().all)
    x->mutex_.lock();
}

void control_link::after_fork() {
  for (auto* x : links().all)
    x->mutex_.unlock();
  links().mutex.unlock();
  hooks().mutex.unlock();
}

// The child does not speak for its parent, whose end the agent must notice.
void control_link::in_child() {
  for (auto* x : links().all) {
    x->state_ = state::forgotten;
    if (const auto fd = x->fd_.exchange(-1); fd >= 0)
      ::close(fd);
  }
  after_fork();
}

// It is not the program's thread: it handles none of its signals.
void control_link::start(const std::shared_ptr<control_link>& self) {
  auto all = sigset_t{};
  auto before = sigset_t{};
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  has_thread_ = true;
  try {
    std::thread{[self] { self->run(); }}.detach();
  } catch (const std::exception&) {
    has_thread_ = false;
    is_lost_ = true;
    refusal_ = "the system has no thread left";
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void control_link::close() {
  auto expected = state::open;
  if (!state_.compare_exchange_strong(expected, state::closed))
    return;
  ::shutdown(fd_, SHUT_RDWR); // Wakes the thread up.
  auto lock = std::unique_lock{mutex_};
  changed_.notify_all();
  changed_.wait_for(lock, 1s, [this] { return !has_thread_; });
}

// -- words --------------------------------------------------------------------

void control_link::say(const std::string& packet) {
  while (speaks() && !send(packet)) {
    auto room = pollfd{.fd = fd_, .events = POLLOUT, .revents = 0};
    ::poll(&room, 1, room_interval_ms);
  }
}

void control_link::say_soon(const std::string& packet) {
  if (speaks())
    send(packet);
}

// What is wrong with the connection, the thread finds out.
bool control_link::send(const std::string& packet) {
  for (;;) {
    const auto count
      = ::send(fd_, packet.data(), packet.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count >= 0 || (errno != EINTR && errno != EAGAIN))
      return true;
    if (errno == EAGAIN)
      return false;
  }
}

// -- the thread ---------------------------------------------------------------

void control_link::run() {
  // Room for one byte more, so that a packet that is too long shows.
  auto place = std::array<char, live_packet_size_max + 1>{};
  while (await_packet()) {
    const auto count = ::recv(fd_, place.data(), place.size(), MSG_DONTWAIT);
    if (count < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (count <= 0 || !take({place.data(), static_cast<size_t>(count)}))
      break;
  }
  {
    const auto lock = std::lock_guard{mutex_};
    is_lost_ = true;
    if (refusal_.empty())
      refusal_ = "the agent has hung up";
    if (speaks())
      end_locked(over::lost, refusal_);
  }
  while (has_to_unblock()) {
    run_hooks();
    auto lock = std::unique_lock{mutex_};
    changed_.wait_for(lock, hook_interval);
  }
  const auto lock = std::lock_guard{mutex_};
  has_thread_ = false;
  changed_.notify_all();
}

// Calls hooks meanwhile as long as they are needed.
bool control_link::await_packet() {
  while (speaks()) {
    const auto unblocks = has_to_unblock();
    if (unblocks)
      run_hooks();
    auto entry = pollfd{.fd = fd_, .events = POLLIN, .revents = 0};
    const auto time = unblocks ? int(hook_interval / 1ms) : -1;
    if (::poll(&entry, 1, time) > 0)
      return speaks();
  }
  return false;
}

bool control_link::take(std::string_view packet) {
  auto order = parse_order(packet);
  auto answer = std::string{};
  {
    const auto lock = std::lock_guard{mutex_};
    if (!order) {
      refusal_ = "the agent speaks another language";
      return false;
    }
    std::visit([this](auto& x) { on(x); }, *order);
    changed_.notify_all();
    answer.swap(answer_);
  }
  if (!answer.empty())
    say(answer);
  return true;
}

void control_link::on(generation_order& x) {
  if (latest_ && x.number == latest_->order.number)
    return;
  end_locked(over::regroup, x.reason);
  latest_ = std::make_shared<told_generation>(std::move(x));
}

void control_link::on(regroup_order& x) {
  end_locked(over::regroup, x.reason);
}

// That it holds, and from which step on, is decided while it goes past none.
void control_link::on(hold_order&) {
  if (!latest_ || latest_->how != over::no)
    return;
  limit_locked(latest_->next_step, false);
  answer_ = held_packet(latest_->order.number, latest_->next_step);
}

void control_link::on(stop_at_order& x) {
  limit_locked(x.step, true);
}

void control_link::on(go_on_order&) {
  limit_locked(std::nullopt, false);
}

void control_link::on(stop_order& x) {
  is_stopped_ = true;
  end_locked(over::stop, x.reason);
}

void control_link::on(refusal_order& x) {
  refusal_ = std::move(x.text);
}

void control_link::limit_locked(std::optional<uint64_t> step, bool stops) {
  if (!latest_)
    return;
  latest_->limit = step;
  latest_->stops = stops;
  latest_->has_reached = false;
}

void control_link::end_locked(over how, const std::string& reason) {
  if (latest_ && latest_->how == over::no) {
    latest_->over_reason = reason;
    latest_->how = how;
  }
  changed_.notify_all();
}

// -- hooks --------------------------------------------------------------------

bool control_link::has_to_unblock() const {
  const auto lock = std::lock_guard{mutex_};
  if (!entered_ || entered_->is_left || !speaks())
    return false;
  return entered_->how != over::no;
}

// The program may add hooks, and leave the generation, while they run.
void control_link::run_hooks() {
  auto reason = std::string{};
  {
    const auto lock = std::lock_guard{mutex_};
    if (!entered_ || entered_->is_left)
      return;
    hooks_run_on_ = std::this_thread::get_id();
    reason = entered_->over_reason;
  }
  auto& known = hooks();
  auto all = std::vector<std::function<void(std::string_view)>>{};
  {
    const auto lock = std::lock_guard{known.mutex};
    all = known.all;
  }
  for (const auto& hook : all)
    try {
      hook(reason);
    } catch (const std::exception& x) {
      std::fprintf(stderr, "actorrun: a hook of on_regroup fails: %s\n",
                   x.what());
    } catch (...) {
      std::fputs("actorrun: a hook of on_regroup fails\n", stderr);
    }
  const auto lock = std::lock_guard{mutex_};
  hooks_run_on_ = {};
  changed_.notify_all();
}

// -- what the program waits for -----------------------------------------------

bool control_link::await_first(clock::duration time) {
  auto lock = std::unique_lock{mutex_};
  changed_.wait_until(lock, moment_after(time),
                      [this] { return latest_ || is_stopped_ || is_lost_; });
  return latest_ || is_stopped_;
}

control_link::told control_link::next() {
  auto lock = std::unique_lock{mutex_};
  auto last = entered_;
  while (true) {
    changed_.wait(lock, [&] {
      return is_stopped_ || is_lost_ || !speaks() || latest_ != last;
    });
    if (is_stopped_ || is_lost_ || !speaks())
      return nullptr;
    last = latest_;
    if (last->how == over::no) {
      entered_ = last;
      return last;
    }
    lock.unlock();
    say(parked_packet(last->order.number));
    lock.lock();
  }
}

bool control_link::wait_over(const told_generation& x, clock::duration time) {
  auto lock = std::unique_lock{mutex_};
  changed_.wait_until(lock, moment_after(time), [&] {
    return x.how != over::no || x.is_left || !speaks();
  });
  return x.how != over::no;
}

at_step control_link::pass(told_generation& x, uint64_t step, bool saves) {
  auto lock = std::unique_lock{mutex_};
  while (x.how == over::no && speaks()) {
    if (!x.limit || step < *x.limit) {
      if (step >= x.next_step)
        x.next_step = step + (step < UINT64_MAX ? 1 : 0);
      return at_step::past;
    }
    if (x.stops && saves)
      return at_step::to_save;
    if (x.stops && !x.has_reached) {
      x.has_reached = true;
      lock.unlock();
      say(reached_packet(x.order.number, step)); // May wait for room.
      lock.lock();
    } else {
      changed_.wait(lock);
    }
  }
  return at_step::over;
}

void control_link::leave(told_generation& x) {
  auto lock = std::unique_lock{mutex_};
  x.is_left = true;
  changed_.notify_all();
  changed_.wait(lock, [this] {
    return hooks_run_on_ == std::thread::id{}
           || hooks_run_on_ == std::this_thread::get_id();
  });
}

bool control_link::is_lost() const {
  const auto lock = std::lock_guard{mutex_};
  return is_lost_ && !is_stopped_;
}

std::string control_link::refusal() const {
  const auto lock = std::lock_guard{mutex_};
  return refusal_;
}

std::string control_link::reason_of(const told_generation& x) const {
  const auto lock = std::lock_guard{mutex_};
  return x.over_reason;
}

} // namespace actorrun::worker
