#include "runtime/processes/warden.hpp"

#include "actors/core/text.hpp"
#include "runtime/os/clock.hpp"
#include "runtime/os/control_group.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/processes/spawn.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>
#include <utility>

#include <fcntl.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// Delay from the end of a warden to the start of the next.
constexpr auto restart_delay = std::chrono::milliseconds{50};

/// Delay from the start of the first warden to that of the second: many programs
/// have ended by then.
constexpr auto second_delay = std::chrono::milliseconds{50};

warden_table* map_table() {
  auto* memory = ::mmap(nullptr, sizeof(warden_table), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    end_for_lack_of("memory", errno);
  return new (memory) warden_table;
}

// A child with the exit signal 0: the host program gets no SIGCHLD for it, and
// a `waitpid(-1)` of the host does not see it. The bare system call runs no
// fork handlers of other libraries.
pid_t fork_silently(int* pidfd) {
  return static_cast<pid_t>(
    ::syscall(SYS_clone, CLONE_PIDFD, nullptr, pidfd, nullptr, nullptr));
}

} // namespace

// -- registration -------------------------------------------------------------

warden::registration::registration(registration&& other) noexcept
  : owner_(std::exchange(other.owner_, nullptr)), slot_(other.slot_),
    fire_count_(other.fire_count_), cgroup_(std::move(other.cgroup_)) {}

warden::registration&
warden::registration::operator=(registration&& other) noexcept {
  reset();
  owner_ = std::exchange(other.owner_, nullptr);
  slot_ = other.slot_;
  fire_count_ = other.fire_count_;
  cgroup_ = std::move(other.cgroup_);
  return *this;
}

void warden::registration::reset() {
  if (!owner_)
    return;
  if (owner_->table_->groups[slot_].exchange(0) < 0)
    owner_->table_->spared_count.fetch_sub(1);
  owner_->free_slots_.push_back(slot_);
  owner_ = nullptr;
  cgroup_.reset();
}

int warden::registration::enter(pid_t self) noexcept {
  const auto& table = *owner_->table_;
  owner_->table_->groups[slot_].store(self);
  const auto is_late = table.fire_count.load() != fire_count_
                       || now_of_fence() >= table.fence.load();
  return is_late ? ECANCELED : 0;
}

// The group gets its mark before the count is read, and the count goes up before the
// groups are read: so a fence that comes leaves it alone, or is seen here.
int warden::registration::spare() noexcept {
  if (!owner_)
    return ECANCELED;
  auto& group = owner_->table_->groups[slot_];
  const auto pid = group.load();
  if (pid <= 0)
    return pid < 0 ? 0 : ECANCELED;
  owner_->table_->spared_count.fetch_add(1);
  group.store(-pid);
  if (owner_->table_->fire_count.load() == fire_count_)
    return 0;
  end_sparing(group);
  return ECANCELED;
}

void warden::registration::end_sparing(std::atomic<pid_t>& group) noexcept {
  const auto pid = group.load();
  if (pid >= 0)
    return;
  group.store(-pid);
  owner_->table_->spared_count.fetch_sub(1);
}

int warden::registration::guard(uint64_t fire_count) noexcept {
  if (!owner_)
    return ECANCELED;
  end_sparing(owner_->table_->groups[slot_]);
  fire_count_ = fire_count;
  const auto& table = *owner_->table_;
  const auto is_late = table.fire_count.load() != fire_count_
                       || now_of_fence() >= table.fence.load();
  return is_late ? ECANCELED : 0;
}

bool warden::registration::was_killed() const noexcept {
  return owner_ && owner_->table_->fire_count.load() != fire_count_
         && owner_->table_->groups[slot_].load() > 0;
}

void warden::registration::leave() noexcept {
  owner_->table_->groups[slot_].store(0);
}

// -- warden -------------------------------------------------------------------

warden::warden(reactor& loop, std::function<void()> on_lost)
  : loop_(loop), on_lost_(std::move(on_lost)), table_(map_table()),
    agent_(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0))),
    processes_{make_peer(), make_peer()}, free_slots_(table_->groups.size()) {
  if (!agent_)
    end_for_lack_of("descriptor", errno);
  // The lowest slots are given first.
  std::iota(free_slots_.rbegin(), free_slots_.rend(), 0);
}

warden::peer warden::make_peer() {
  auto pair = std::array{-1, -1};
  auto out = peer{};
  out.wake_up.reset(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!out.wake_up
      || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                      pair.data())
           != 0)
    end_for_lack_of("descriptor", errno);
  out.orders.reset(pair[0]);
  out.orders_taken.reset(pair[1]);
  return out;
}

warden::~warden() {
  assert(free_slots_.size() == table_->groups.size());
  for (auto& x : processes_) {
    loop_.cancel(x.start);
    if (x.process) {
      loop_.unwatch(x.process.get());
      ::syscall(SYS_pidfd_send_signal, x.process.get(), SIGKILL, nullptr, 0);
    }
  }
  for (auto& x : processes_)
    if (x.process)
      reap(x.process.get());
  ::munmap(table_, sizeof(warden_table));
}

int warden::ensure() {
  assert(loop_.on_thread()); // All signals are blocked there, so in the child.
  auto& second = at(warden_role::second);
  if (!second.process && second.start == 0)
    start_soon(warden_role::second, second_delay);
  return start(warden_role::first);
}

int warden::start(warden_role role) {
  auto& own = at(role);
  if (own.process)
    return 0;
  make_home();
  auto pidfd = -1;
  const auto pid = fork_silently(&pidfd);
  if (pid == 0)
    run_warden(*table_, role, agent_.get(), own.wake_up.get(),
               own.orders_taken.get());
  if (pid < 0)
    return errno;
  own.pid = pid;
  own.process.reset(pidfd);
  loop_.watch(pidfd, EPOLLIN, [=, this](uint32_t) { on_end(role); });
  // Each knows the other.
  const auto& other = processes_[1 - size_t(role)];
  if (other.process) {
    send(own, socket_order::companion, other.process.get());
    send(other, socket_order::companion, pidfd);
  }
  return 0;
}

void warden::make_home() {
  if (home_)
    return;
  home_.emplace(unified_folder());
  const auto& path = home_->path();
  std::copy(path.begin(), path.end(), table_->cgroup.begin());
}

void warden::on_end(warden_role role) {
  auto& own = at(role);
  loop_.unwatch(own.process.get());
  reap(own.process.get());
  own.process.reset();
  own.pid = 0;
  {
    // What the last one held, the next one must be handed again.
    const auto lock = std::lock_guard{kept_mutex_};
    for (size_t i = 0; i < kept_socket_count; ++i)
      if (kept_[i])
        send(own, uint32_t(i), kept_[i].get());
  }
  if (on_lost_)
    on_lost_();
  restart(role);
}

// With a delay, because the cause may end the next one, too.
void warden::restart(warden_role role) {
  if (free_slots_.size() == table_->groups.size() && !keeps_any())
    return; // There is nothing to guard.
  start_soon(role, restart_delay);
}

void warden::start_soon(warden_role role, core::duration delay) {
  at(role).start = loop_.after(delay, [=, this] {
    at(role).start = 0;
    if (start(role) != 0)
      restart(role);
  });
}

warden::registration warden::enlist(uint64_t fire_count,
                                    std::shared_ptr<worker_cgroup> cgroup) {
  assert(loop_.on_thread());
  auto result = registration{};
  if (free_slots_.empty())
    return result;
  result.owner_ = this;
  result.slot_ = free_slots_.back();
  result.fire_count_ = fire_count;
  result.cgroup_ = std::move(cgroup);
  free_slots_.pop_back();
  return result;
}

// The warden sleeps no longer than to a fence that was set before, so it must
// be woken only for an earlier one.
uint64_t warden::set_fence(core::time_point due) {
  const auto fire_count = table_->fire_count.load();
  const auto is_limited = due != core::time_point::max();
  const auto ns = is_limited ? (due.time_since_epoch() + time_asleep()).count()
                             : warden_table::no_fence;
  if (ns < table_->fence.exchange(ns))
    for (const auto& x : processes_)
      ::eventfd_write(x.wake_up.get(), 1);
  return fire_count;
}

std::string warden::residence_obstacle() const {
  const auto error = table_->residence.load();
  if (error == 0 || error == warden_table::not_tried)
    return {};
  return core::error_text(error) + ", RLIMIT_MEMLOCK";
}

std::shared_ptr<warden> start_warden(std::shared_ptr<reactor> loop,
                                     std::function<void()> on_lost) {
  assert(!loop->on_thread());
  auto out = std::shared_ptr<warden>{
    new warden{*loop, std::move(on_lost)},
    [loop](warden* x) { run_and_wait(*loop, [x] { delete x; }); }};
  // Whatever deletes it is posted later. A weak pointer would keep what deletes it, and
  // with that the reactor, which then might end on its own thread.
  loop->post([x = out.get()] { (void)x->ensure(); });
  return out;
}

// -- what is said after the end -----------------------------------------------

void warden::set_linger(core::duration after, core::duration most) {
  table_->linger = after.count();
  table_->linger_max = most.count();
}

void warden::keep(kept_socket which, int socket, std::string_view statement,
                  std::string_view release) {
  assert(release.size() <= release_size_max);
  const auto guard = std::lock_guard{kept_mutex_};
  kept_[size_t(which)].reset(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  auto& words = table_->answers[size_t(which)];
  std::copy(release.begin(), release.end(), words.release.begin());
  words.release_size = release.size();
  write(which, statement);
  send_order(which);
}

void warden::reword(kept_socket which, std::string_view statement) {
  const auto guard = std::lock_guard{kept_mutex_};
  write(which, statement);
}

bool warden::keeps_any() {
  const auto guard = std::lock_guard{kept_mutex_};
  return std::any_of(kept_.begin(), kept_.end(),
                     [](const auto& x) { return static_cast<bool>(x); });
}

void warden::close(kept_socket which) {
  const auto guard = std::lock_guard{kept_mutex_};
  auto& socket = kept_[size_t(which)];
  // Frees the port now, although the warden closes its copy a moment later.
  if (socket)
    ::shutdown(socket.get(), SHUT_RDWR);
  socket.reset();
  send_order(which);
}

void warden::write(kept_socket which, std::string_view statement) {
  assert(statement.size() <= statement_size_max);
  auto& words = table_->answers[size_t(which)];
  const auto next = words.current.load() + 1;
  auto& text = words.statements[next % 2];
  std::copy(statement.begin(), statement.end(), text.bytes.begin());
  text.size = statement.size();
  words.current = next;
}

void warden::send_order(kept_socket which) {
  for (const auto& x : processes_)
    send(x, static_cast<uint32_t>(which), kept_[size_t(which)].get());
}

// If this fails, for lack of memory, nothing is said later, and leases decide.
void warden::send(const peer& to, uint32_t which, int fd) {
  auto order = socket_order{which, fd >= 0};
  auto content = iovec{.iov_base = &order, .iov_len = sizeof order};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  auto message = msghdr{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  if (fd >= 0) {
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    auto* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  }
  (void)::sendmsg(to.orders.get(), &message, MSG_NOSIGNAL);
}

} // namespace actorrun::detail
