#include "runtime/processes/agent_death.hpp"

#include "runtime/processes/directory_entry.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr int64_t microsecond = 1'000; // nanoseconds
constexpr int64_t millisecond = 1'000 * microsecond;

/// Between two looks at workers that do not end: this, then twice this, …
constexpr auto look_delay_min = 200 * microsecond;
constexpr auto look_delay_max = 20 * millisecond;
/// … and when leases have decided anyway.
constexpr auto late_look_delay = 200 * millisecond;
constexpr auto late_after = 2'000 * millisecond;

/// A group that exists for longer may consist of zombies that no parent reaps.
constexpr auto zombie_delay = 5 * millisecond;

/// For the end of a killed warden.
constexpr auto end_max = 1'000 * millisecond;

/// Connections that are kept open, so that their ends can read the statement.
/// Beyond that, the oldest is closed.
constexpr size_t client_count_max = 32;

/// Where agents' statements are made: when their workers have ended.
constexpr auto agent_sockets
  = std::array{kept_socket::agent, kept_socket::voter};

/// How a client of ours begins.
constexpr char greeting[] = {'A', 'R', 'U', 'N'};

struct client {
  int fd = -1;
  bool asks_for_coordinator = false;
};

// -- are the workers dead? ----------------------------------------------------

/// What /proc/PID/stat says of a process.
struct process_line {
  char state = 0;
  pid_t group = 0;
  int64_t thread_count = 0;

  /// A zombie has ended when its last thread has; until then it may hold memory,
  /// devices and ports.
  bool has_ended() const {
    return (state == 'Z' || state == 'X') && thread_count <= 1;
  }
};

/// The fields of that file that are looked at, counted from 1 as in proc(5).
constexpr auto state_field = 3;
constexpr auto group_field = 5;
constexpr auto threads_field = 20;

/// @returns false if it cannot be read
bool read_line(int proc, const char* pid, process_line& out) {
  char path[32] = {};
  auto at = size_t{0};
  for (; pid[at] != '\0' && at < 20; ++at)
    path[at] = pid[at];
  constexpr char file[] = "/stat";
  std::copy_n(file, sizeof file, path + at);
  const auto fd = ::openat(proc, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  char text[1024];
  const auto size = ::read(fd, text, sizeof text);
  ::close(fd);
  if (size <= 0)
    return false;
  // "pid (name) state parent group …": the name may hold anything.
  const auto* const end = text + size;
  const auto* x = end;
  while (x > text && x[-1] != ')')
    --x;
  for (auto field = state_field; x < end && field <= threads_field; ++field) {
    ++x; // The space before it.
    if (field == state_field && x < end)
      out.state = *x;
    auto number = int64_t{0};
    for (; x < end && *x != ' '; ++x)
      if (*x >= '0' && *x <= '9')
        number = number * 10 + (*x - '0');
    if (field == group_field)
      out.group = static_cast<pid_t>(number);
    if (field == threads_field)
      out.thread_count = number;
  }
  return out.state != 0;
}

/// The groups of the table, without its gaps.
struct group_list {
  std::array<pid_t, core::slots_per_agent_max> ids;
  size_t size = 0;

  explicit group_list(const warden_table& table) {
    for (const auto& x : table.groups)
      if (const auto id = std::abs(x.load()); id > 0)
        ids[size++] = id;
  }

  bool contains(pid_t id) const {
    return std::find(ids.begin(), ids.begin() + size, id) != ids.begin() + size;
  }
};

/// Looks at all processes. True also if it cannot see them: if this /proc is
/// that of other processes, our own entry is not ours.
bool runs_any(const warden_table& table) {
  const auto proc = ::open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (proc < 0)
    return true;
  const auto groups = group_list{table};
  const auto self = ::getpid();
  auto is_ours = false;
  auto found = false;
  alignas(directory_entry) static char buffer[32 * 1024];
  auto size = long{0};
  while (!found
         && (size = ::syscall(SYS_getdents64, proc, buffer, sizeof buffer)) > 0)
    for (long at = 0; at < size && !found;) {
      const auto* x = reinterpret_cast<const directory_entry*>(buffer + at);
      at += x->length;
      auto id = pid_t{0};
      for (const auto* digit = x->name; *digit >= '0' && *digit <= '9'; ++digit)
        id = id * 10 + (*digit - '0');
      if (id == 0)
        continue;
      auto line = process_line{};
      errno = 0;
      if (!read_line(proc, x->name, line)) {
        found = errno != ENOENT && errno != ESRCH;
        continue;
      }
      is_ours = is_ours || (id == self && line.group == ::getpgrp());
      found = groups.contains(line.group) && !line.has_ended();
    }
  ::close(proc);
  return found || size < 0 || !is_ours;
}

/// Kills all groups again: a process may have been made since the last time. One
/// that is gone leaves the table, because its number may come to mean another.
/// @returns whether any exists, if only as a zombie
bool kill_all(warden_table& table) {
  auto found = false;
  for (auto& group : table.groups) {
    const auto pid = std::abs(group.load()); // Also if the fence spares it.
    if (pid == 0)
      continue;
    if (::kill(-pid, SIGKILL) != 0 && errno == ESRCH)
      group.store(0);
    else
      found = true;
  }
  return found;
}

// -- the other warden ----------------------------------------------------------

bool is_readable(int fd, int64_t ns) {
  auto entry = pollfd{.fd = fd, .events = POLLIN, .revents = 0};
  const auto limit
    = timespec{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
  return ::ppoll(&entry, 1, &limit, nullptr) > 0;
}

/// Waits for its end. @returns whether it has ended
bool has_ended(const companion& x, int64_t ns = 0) {
  return x.pidfd < 0 || is_readable(x.pidfd, ns);
}

/// One that cannot be killed holds our sockets as long: then leases decide.
void end(const companion& x) {
  if (x.pidfd < 0)
    return;
  ::syscall(SYS_pidfd_send_signal, x.pidfd, SIGKILL, nullptr, 0);
  (void)has_ended(x, end_max);
}

// -- those who ask ------------------------------------------------------------

class answer_server {
public:
  answer_server(warden_table& table,
                const std::array<int, kept_socket_count>& sockets,
                const companion& other)
    : table_(table), sockets_(sockets), other_(other), begin_(now_of_fence()),
      last_request_(begin_) {}

  void workers_ended() {
    end(other_); // What we close would stay open there.
    workers_ended_ = true;
    last_request_ = std::max(last_request_, now_of_fence());
    end_of_agents_ = now_of_fence() + table_.linger.load();
    close_socket(kept_socket::presence); // Before a successor can look for it.
    release_if_due();
  }

  bool is_over() const {
    const auto now = now_of_fence();
    const auto is_asked
      = std::any_of(agent_sockets.begin(), agent_sockets.end(),
                    [this](auto x) { return has(x); });
    const auto agent = workers_ended_ && (!is_asked || now >= end_of_agents_);
    const auto coordinator
      = !has(kept_socket::coordinator)
        || now >= std::min(last_request_ + table_.linger.load(),
                           begin_ + table_.linger_max.load());
    return agent && coordinator;
  }

  /// Answers for at most that long.
  void serve(int64_t ns) {
    release_if_due();
    pollfd fds[client_count_max + 1 + agent_sockets.size()] = {};
    auto count = nfds_t{0};
    for (const auto& x : clients_)
      fds[count++] = {.fd = x.fd, .events = POLLIN, .revents = 0};
    fds[count++]
      = {.fd = at(kept_socket::coordinator), .events = POLLIN, .revents = 0};
    for (const auto x : agent_sockets)
      fds[count++]
        = {.fd = workers_ended_ ? at(x) : -1, .events = POLLIN, .revents = 0};
    const auto limit
      = timespec{.tv_sec = ns / 1'000'000'000, .tv_nsec = ns % 1'000'000'000};
    if (::ppoll(fds, count, &limit, nullptr) <= 0)
      return;
    for (size_t i = 0; i < client_count_max; ++i)
      if (fds[i].revents != 0)
        hear(clients_[i]);
    if (fds[client_count_max].revents != 0)
      receive(kept_socket::coordinator);
    for (size_t i = 0; i < agent_sockets.size(); ++i)
      if (fds[client_count_max + 1 + i].revents != 0)
        receive(agent_sockets[i]);
  }

private:
  int at(kept_socket which) const { return sockets_[size_t(which)]; }
  bool has(kept_socket which) const { return at(which) >= 0; }

  void receive(kept_socket which) {
    const auto fd
      = ::accept4(at(which), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
      return;
    const auto& words = table_.answers[size_t(which)];
    const auto& text = words.statements[words.current.load() % 2];
    // It fits into the buffer of a new connection.
    (void)::send(fd, text.bytes.data(), text.size, MSG_NOSIGNAL);
    auto& place = clients_[next_++ % client_count_max];
    dismiss(place);
    place = {fd, which == kept_socket::coordinator};
    // An agent's statement is all that its reader waits for. A coordinator's
    // comes from a server that might still be asked something.
    if (which != kept_socket::coordinator)
      ::shutdown(fd, SHUT_WR);
  }

  void hear(client& x) {
    char text[256];
    const auto size = ::recv(x.fd, text, sizeof text, 0);
    if (size <= 0) {
      if (size == 0 || (errno != EAGAIN && errno != EINTR))
        dismiss(x);
      return;
    }
    if (!x.asks_for_coordinator)
      return;
    const auto length = static_cast<size_t>(size);
    if (length > sizeof greeting
        && std::equal(greeting, greeting + sizeof greeting, text))
      last_request_ = now_of_fence();
    const auto& words = table_.answers[size_t(kept_socket::coordinator)];
    // What a successor sends after it has read the statement comes by itself.
    const auto begin = length >= words.release_size
                         ? text + (length - words.release_size)
                         : text;
    if (words.release_size > 0 && length >= words.release_size
        && std::equal(begin, text + length, words.release.data()))
      wants_port_ = true;
    release_if_due();
  }

  // The successor's workers must find none of ours. Of workers that do not end the
  // lease has decided when its time is over, and the successor holds back as long:
  // no tombstone says that this agent has gone.
  void release_if_due() {
    const auto has_decided = now_of_fence() >= begin_ + table_.linger.load();
    if (!wants_port_ || !(workers_ended_ || has_decided)
        || !has(kept_socket::coordinator))
      return;
    end(other_);
    close_socket(kept_socket::coordinator);
    for (auto& x : clients_)
      if (x.asks_for_coordinator)
        dismiss(x);
  }

  void close_socket(kept_socket which) {
    if (has(which))
      ::close(at(which));
    sockets_[size_t(which)] = -1;
  }

  static void dismiss(client& x) {
    if (x.fd >= 0)
      ::close(x.fd);
    x = {};
  }

  warden_table& table_;
  std::array<int, kept_socket_count> sockets_;
  companion other_;
  std::array<client, client_count_max> clients_{};
  size_t next_ = 0;
  int64_t begin_;
  int64_t last_request_;
  int64_t end_of_agents_ = 0;
  bool workers_ended_ = false;
  bool wants_port_ = false;
};

} // namespace

void handle_agent_death(warden_table& table,
                        std::array<int, kept_socket_count> sockets,
                        companion other) {
  kill_all(table);
  kill_cgroup_of(table);
  if (std::all_of(sockets.begin(), sockets.end(), [](int x) { return x < 0; }))
    return;
  const auto begin = now_of_fence();
  auto server = answer_server{table, sockets, other};
  auto is_silent = other.own_role == warden_role::second;
  auto delay = look_delay_min;
  auto next_look = begin;
  auto workers_ended = false;
  auto has_told = false;
  while (is_silent || !server.is_over()) {
    if (!workers_ended && now_of_fence() >= next_look) {
      const auto elapsed = now_of_fence() - begin;
      const auto is_populated = kill_cgroup_of(table);
      workers_ended
        = (!kill_all(table) || (elapsed > zombie_delay && !runs_any(table)))
          && !is_populated;
      if (!workers_ended && elapsed > table.linger_max.load())
        return; // They hang in the kernel: nothing can be said of them.
      next_look = now_of_fence() + delay;
      delay = elapsed > late_after ? late_look_delay
                                   : std::min(2 * delay, look_delay_max);
    }
    const auto pause
      = workers_ended
          ? look_delay_max
          : std::max<int64_t>(next_look - now_of_fence(), microsecond);
    if (is_silent) {
      is_silent = !has_ended(other, pause);
      continue;
    }
    if (workers_ended && !std::exchange(has_told, true))
      server.workers_ended();
    server.serve(pause);
  }
}

} // namespace actorrun::detail
