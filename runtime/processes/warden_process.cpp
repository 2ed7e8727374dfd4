#include "runtime/processes/warden_process.hpp"

#include "runtime/processes/agent_death.hpp"
#include "runtime/processes/resident_pages.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>
#include <span>

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr int64_t nanoseconds_per_second = 1'000'000'000;

/// From its start until it settles in: many programs have ended by then.
constexpr int64_t settle_delay = 100'000'000;

// Where `keep_only` puts the three descriptors, and `open_timer` its own.
constexpr int agent_fd = 0;
constexpr int wake_up_fd = 1;
constexpr int orders_fd = 2;
constexpr int timer_fd = 3;

// The fields of /proc/self/stat that say where the command line lies, counted
// from 1 as in proc(5).
constexpr int arguments_begin_field = 48;
constexpr int arguments_end_field = 49;

/// The number in the given field of `stat`, whose second is a name in
/// parentheses that may hold anything.
uintptr_t number_in(const char* stat, const char* end, int field) {
  const auto* at = end;
  while (at > stat && at[-1] != ')')
    --at;
  for (auto skip = field - 2; skip > 0 && at < end; ++at)
    skip -= *at == ' ' ? 1 : 0;
  auto number = uintptr_t{0};
  for (; at < end && *at >= '0' && *at <= '9'; ++at)
    number = number * 10 + static_cast<uintptr_t>(*at - '0');
  return number;
}

// With the agent's command line, or a name that holds that of its program, a warden
// would look like a second agent in `ps`, and `pkill` would end both at once. The
// memory is our own copy since the fork.
void rename_process(const char* name) {
  ::prctl(PR_SET_NAME, name);
  char stat[2048];
  const auto fd = ::open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  const auto size = fd < 0 ? -1 : ::read(fd, stat, sizeof stat);
  ::close(fd);
  if (size <= 0)
    return;
  const auto begin = number_in(stat, stat + size, arguments_begin_field);
  const auto end = number_in(stat, stat + size, arguments_end_field);
  if (begin == 0 || end <= begin)
    return;
  auto* const text = reinterpret_cast<char*>(begin);
  const auto room = end - begin;
  for (size_t i = 0; i < room; ++i)
    text[i] = '\0';
  for (size_t i = 0; i + 1 < room && name[i] != '\0'; ++i)
    text[i] = name[i];
}

// Closes all others: a descriptor held here would stay open for its peer. Without its
// three a warden is of no use, and the agent makes another.
void keep_only(int agent, int wake_up, int orders) {
  const auto free_agent = ::fcntl(agent, F_DUPFD, orders_fd + 1);
  const auto free_wake_up = ::fcntl(wake_up, F_DUPFD, orders_fd + 1);
  const auto free_orders = ::fcntl(orders, F_DUPFD, orders_fd + 1);
  if (free_agent < 0 || free_wake_up < 0 || free_orders < 0)
    ::_exit(1);
  ::dup2(free_agent, agent_fd);
  ::dup2(free_wake_up, wake_up_fd);
  ::dup2(free_orders, orders_fd);
  ::syscall(SYS_close_range, orders_fd + 1U, ~0U, 0U);
}

// A time-out of `poll` does not count the time that the machine sleeps.
void open_timer() {
  const auto timer = ::timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK);
  if (timer >= 0 && timer != timer_fd) {
    ::dup2(timer, timer_fd);
    ::close(timer);
  }
}

void set_timer(int64_t due) {
  auto setting = itimerspec{};
  if (due != warden_table::no_fence) {
    setting.it_value.tv_sec = due / nanoseconds_per_second;
    setting.it_value.tv_nsec = due % nanoseconds_per_second;
  }
  ::timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &setting, nullptr);
}

void kill_groups(std::span<const std::atomic<pid_t>> groups) {
  for (const auto& group : groups)
    if (const auto pid = group.load(); pid > 0)
      ::kill(-pid, SIGKILL);
}

void kill_groups(const warden_table& table) {
  kill_groups(table.groups);
  if (table.spared_count.load() == 0)
    kill_cgroup_of(table);
}

// What cuts a node off may take its files and its swap space away, too: then code that
// has never run here could not be read any more. So it runs once, on nothing, and what
// it has touched stays in memory. A system that is short of CPU time comes to us first.
void settle_in(warden_table& table) {
  kill_groups(std::span<const std::atomic<pid_t>>{});
  ::kill(::getpid(), 0);
  (void)kill_cgroup_at("/proc/self/none");
  kill_cgroup(-1);
  (void)is_populated(-1);
  const auto least = sched_param{.sched_priority = 1};
  if (::sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &least) != 0)
    ::setpriority(PRIO_PROCESS, 0, -20);
  table.residence = lock_touched_pages(&table, sizeof table);
}

// One that hangs in the kernel keeps the group, which a later agent removes.
void end_cgroup(const warden_table& table) {
  if (table.cgroup[0] == '\0')
    return;
  const auto due = now_of_fence() + nanoseconds_per_second;
  const auto pause = timespec{.tv_sec = 0, .tv_nsec = 1'000'000};
  while (kill_cgroup_of(table) && now_of_fence() < due)
    ::nanosleep(&pause, nullptr);
  remove_cgroup(table.cgroup.data());
}

// The count goes up before the groups are read, and a worker enters its group
// before it reads the count: so it is killed, or sees that it came too late. Who
// spares a group does the same.
void fire_if_due(warden_table& table) {
  auto due = table.fence.load();
  if (due == warden_table::no_fence || now_of_fence() < due)
    return;
  if (!table.fence.compare_exchange_strong(due, warden_table::no_fence))
    return; // Moved just in time.
  table.fire_count.fetch_add(1);
  kill_groups(table);
}

// Sleeps until the fence as it is now, or until `limit`; for ever without one. The
// time-out is for a system that has no timer to give.
void wait(const warden_table& table, int64_t limit, bool may_get_orders,
          pollfd (&fds)[4]) {
  const auto due = std::min(table.fence.load(), limit);
  set_timer(due);
  auto timeout = timespec{};
  if (due != warden_table::no_fence) {
    const auto left = std::max<int64_t>(due - now_of_fence(), 0);
    timeout.tv_sec = left / nanoseconds_per_second;
    timeout.tv_nsec = left % nanoseconds_per_second;
  }
  fds[0] = {.fd = agent_fd, .events = POLLIN, .revents = 0};
  fds[1] = {.fd = wake_up_fd, .events = POLLIN, .revents = 0};
  fds[2]
    = {.fd = may_get_orders ? orders_fd : -1, .events = POLLIN, .revents = 0};
  fds[3] = {.fd = timer_fd, .events = POLLIN, .revents = 0};
  const auto* most = due == warden_table::no_fence ? nullptr : &timeout;
  if (::ppoll(fds, 4, most, nullptr) < 0)
    fds[0].revents = fds[1].revents = fds[2].revents = 0;
}

/// Takes over the descriptors that were handed to us.
/// @returns whether more may come. An agent that ends has none from its first steps
///          on, and needs CPU time for the others.
bool take_orders(std::array<int, kept_socket_count>& sockets, int& other) {
  for (;;) {
    auto order = socket_order{};
    auto content = iovec{.iov_base = &order, .iov_len = sizeof order};
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
    auto message = msghdr{};
    message.msg_iov = &content;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof space;
    const auto size
      = ::recvmsg(orders_fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (size != static_cast<ssize_t>(sizeof order)
        || order.which > socket_order::companion)
      return size != 0;
    auto& place
      = order.which == socket_order::companion ? other : sockets[order.which];
    if (place >= 0)
      ::close(place);
    place = -1;
    if (const auto* head = CMSG_FIRSTHDR(&message);
        order.has_socket && head != nullptr && head->cmsg_type == SCM_RIGHTS)
      std::memcpy(&place, CMSG_DATA(head), sizeof place);
  }
}

} // namespace

bool kill_cgroup_of(const warden_table& table) noexcept {
  return table.cgroup[0] != '\0' && kill_cgroup_at(table.cgroup.data());
}

int64_t now_of_fence() noexcept {
  auto time = timespec{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return time.tv_sec * nanoseconds_per_second + time.tv_nsec;
}

void run_warden(warden_table& table, warden_role role, int agent_pidfd,
                int wake_up, int orders) {
  ::setsid(); // So that the terminal's signals do not reach it.
  rename_process(role == warden_role::first ? first_warden_name
                                            : second_warden_name);
  keep_only(agent_pidfd, wake_up, orders);
  open_timer();
  if (::chdir("/") != 0) {
    // Then it only keeps a file system busy.
  }
  auto sockets = std::array<int, kept_socket_count>{};
  sockets.fill(-1);
  auto other = -1;
  auto settles_at = now_of_fence() + settle_delay;
  auto may_get_orders = true;
  for (;;) {
    pollfd fds[4] = {};
    wait(table, settles_at, may_get_orders, fds);
    if (fds[2].revents != 0 || fds[0].revents != 0)
      may_get_orders = take_orders(sockets, other);
    if (fds[0].revents != 0) {
      // A worker that is about to enter its group comes too late.
      table.fire_count.fetch_add(1);
      handle_agent_death(table, sockets, {role, other});
      end_cgroup(table);
      ::_exit(0);
    }
    if (fds[1].revents != 0) {
      auto ignored = uint64_t{};
      if (::read(wake_up_fd, &ignored, sizeof ignored) < 0) {
        // No count to read is fine as well.
      }
    }
    fire_if_due(table);
    if (now_of_fence() >= settles_at) {
      settle_in(table);
      settles_at = warden_table::no_fence;
    }
  }
}

} // namespace actorrun::detail
