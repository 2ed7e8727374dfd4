#include "runtime/processes/warden.hpp"

#include "runtime/os/clock.hpp"
#include "runtime/os/control_group.hpp"

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

[[noreturn]] void die(const char* what) {
  std::perror(what);
  std::abort();
}

warden_table* map_table() {
  auto* memory = ::mmap(nullptr, sizeof(warden_table), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    die("actorrun: warden: mmap");
  return new (memory) warden_table;
}

// A child with the exit signal 0: the host program gets no SIGCHLD for it, and
// a `waitpid(-1)` of the host does not see it. The bare system call runs no
// fork handlers of other libraries.
pid_t fork_silently(int* pidfd) {
  return static_cast<pid_t>(
    ::syscall(SYS_clone, CLONE_PIDFD, nullptr, pidfd, nullptr, nullptr));
}

void reap(int pidfd) {
  auto info = siginfo_t{};
  const auto id = static_cast<id_t>(pidfd);
  while (::waitid(P_PIDFD, id, &info, WEXITED | __WALL) != 0
         && errno == EINTR) {
  }
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
    wake_up_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
    agent_(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0))),
    free_slots_(table_->groups.size()) {
  auto pair = std::array{-1, -1};
  if (!wake_up_ || !agent_
      || ::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                      pair.data())
           != 0)
    die("actorrun: warden");
  orders_.reset(pair[0]);
  orders_taken_.reset(pair[1]);
  // The lowest slots are given first.
  std::iota(free_slots_.rbegin(), free_slots_.rend(), 0);
}

warden::~warden() {
  assert(free_slots_.size() == table_->groups.size());
  loop_.cancel(restart_);
  if (process_) {
    loop_.unwatch(process_.get());
    ::syscall(SYS_pidfd_send_signal, process_.get(), SIGKILL, nullptr, 0);
    reap(process_.get());
  }
  ::munmap(table_, sizeof(warden_table));
}

int warden::ensure() {
  assert(loop_.on_thread()); // All signals are blocked there, so in the child.
  if (process_)
    return 0;
  make_home();
  auto pidfd = -1;
  const auto pid = fork_silently(&pidfd);
  if (pid == 0)
    run_warden(*table_, agent_.get(), wake_up_.get(), orders_taken_.get());
  if (pid < 0)
    return errno;
  pid_ = pid;
  process_.reset(pidfd);
  loop_.watch(pidfd, EPOLLIN, [this](uint32_t) { on_end(); });
  return 0;
}

void warden::make_home() {
  if (home_)
    return;
  home_.emplace(unified_folder());
  const auto& path = home_->path();
  std::copy(path.begin(), path.end(), table_->cgroup.begin());
}

void warden::on_end() {
  loop_.unwatch(process_.get());
  reap(process_.get());
  process_.reset();
  pid_ = 0;
  {
    // What the last one held, the next one must be handed again.
    const auto guard = std::lock_guard{graves_mutex_};
    for (size_t i = 0; i < grave_count; ++i)
      if (graves_[i])
        send_order(grave(i));
  }
  if (on_lost_)
    on_lost_();
  restart();
}

// With a delay, because the cause may end the next one, too.
void warden::restart() {
  if (free_slots_.size() == table_->groups.size() && !has_graves())
    return; // There is nothing to guard.
  restart_ = loop_.after(restart_delay, [this] {
    if (ensure() != 0)
      restart();
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
    ::eventfd_write(wake_up_.get(), 1);
  return fire_count;
}

std::shared_ptr<warden> start_warden(std::shared_ptr<reactor> loop,
                                     std::function<void()> on_lost) {
  auto out = std::shared_ptr<warden>{
    new warden{*loop, std::move(on_lost)},
    [loop](warden* x) { run_and_wait(*loop, [x] { delete x; }); }};
  loop->post([x = std::weak_ptr{out}] {
    if (const auto alive = x.lock())
      (void)alive->ensure();
  });
  return out;
}

// -- what is said after the end -----------------------------------------------

void warden::set_linger(core::duration after, core::duration most) {
  table_->linger = after.count();
  table_->linger_max = most.count();
}

void warden::bury(grave which, int socket, std::string_view statement,
                  std::string_view release) {
  assert(release.size() <= release_size_max);
  const auto guard = std::lock_guard{graves_mutex_};
  graves_[size_t(which)].reset(::fcntl(socket, F_DUPFD_CLOEXEC, 0));
  auto& words = table_->epitaphs[size_t(which)];
  std::copy(release.begin(), release.end(), words.release.begin());
  words.release_size = release.size();
  write(which, statement);
  send_order(which);
}

void warden::reword(grave which, std::string_view statement) {
  const auto guard = std::lock_guard{graves_mutex_};
  write(which, statement);
}

bool warden::has_graves() {
  const auto guard = std::lock_guard{graves_mutex_};
  return std::any_of(graves_.begin(), graves_.end(),
                     [](const auto& x) { return static_cast<bool>(x); });
}

void warden::unbury(grave which) {
  const auto guard = std::lock_guard{graves_mutex_};
  auto& socket = graves_[size_t(which)];
  // Frees the port now, although the warden closes its copy a moment later.
  if (socket)
    ::shutdown(socket.get(), SHUT_RDWR);
  socket.reset();
  send_order(which);
}

void warden::write(grave which, std::string_view statement) {
  assert(statement.size() <= statement_size_max);
  auto& words = table_->epitaphs[size_t(which)];
  const auto next = words.current.load() + 1;
  auto& text = words.statements[next % 2];
  std::copy(statement.begin(), statement.end(), text.bytes.begin());
  text.size = statement.size();
  words.current = next;
}

// If this fails, for lack of memory, nothing is said later, and leases decide.
void warden::send_order(grave which) {
  const auto& socket = graves_[size_t(which)];
  auto order
    = grave_order{static_cast<uint32_t>(which), static_cast<bool>(socket)};
  auto content = iovec{.iov_base = &order, .iov_len = sizeof order};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  auto message = msghdr{};
  message.msg_iov = &content;
  message.msg_iovlen = 1;
  if (socket) {
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    auto* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    const auto fd = socket.get();
    std::memcpy(CMSG_DATA(head), &fd, sizeof fd);
  }
  (void)::sendmsg(orders_.get(), &message, MSG_NOSIGNAL);
}

} // namespace actorrun::detail
