#include "cli/signals.hpp"

#include "actors/core/hosts/agent_order.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace actorrun::cli {

namespace {

/// Senders that are no processes: a terminal, and the end of our parent.
constexpr auto by_kernel = int64_t{-1};
constexpr auto by_parents_end = int64_t{-2};

} // namespace

signal_inbox::signal_inbox(const std::vector<int>& ending,
                           const std::vector<int>& others)
  : ending_(ending) {
  auto set = sigset_t{};
  sigemptyset(&set);
  for (const auto* signals : {&ending, &others})
    for (auto signal : *signals)
      sigaddset(&set, signal);
  ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  signals_ = ::signalfd(-1, &set, SFD_CLOEXEC);
  wake_up_ = ::eventfd(0, EFD_CLOEXEC);
  if (signals_ < 0 || wake_up_ < 0) {
    std::perror("actorrun: error: no descriptors left for signals");
    std::exit(6);
  }
}

signal_inbox::~signal_inbox() {
  ::close(signals_);
  ::close(wake_up_);
  for (const auto fd : {connection_, parent_})
    if (fd >= 0)
      ::close(fd);
}

int signal_inbox::wait(milliseconds timeout) {
  return next(timeout).signal;
}

received_signal signal_inbox::next(milliseconds timeout) {
  constexpr auto never = clock::time_point::max();
  const auto until = timeout < milliseconds{0} ? never : clock::now() + timeout;
  for (;;) {
    if (const auto x = take_notice(); x.signal != 0)
      return x;
    const auto lost_at
      = connection_ >= 0 ? heard_ + core::life_sign_wait : never;
    const auto due = std::min(until, lost_at);
    const auto left
      = due == never
          ? milliseconds{-1}
          : std::max(std::chrono::ceil<milliseconds>(due - clock::now()),
                     milliseconds{0});
    // One that is negative is left out.
    pollfd ready[] = {{signals_, POLLIN, 0},
                      {wake_up_, POLLIN, 0},
                      {connection_, POLLIN, 0},
                      {parent_, POLLRDHUP, 0}};
    const auto count
      = ::poll(ready, std::size(ready), static_cast<int>(left.count()));
    if (count < 0 && errno != EINTR)
      return {};
    if (count == 0 && clock::now() >= until)
      return {};
    if (count == 0 && clock::now() >= lost_at)
      hang_up();
    if (count <= 0)
      continue;
    auto info = signalfd_siginfo{};
    if ((ready[0].revents & POLLIN) != 0
        && ::read(signals_, &info, sizeof info) == sizeof info) {
      const auto signal = static_cast<int>(info.ssi_signo);
      if (counts(signal, info.ssi_code == SI_KERNEL ? by_kernel
                                                    : int64_t{info.ssi_pid}))
        return {signal};
      continue;
    }
    auto ignored = eventfd_t{};
    if ((ready[1].revents & POLLIN) != 0
        && ::eventfd_read(wake_up_, &ignored) == 0)
      return {};
    if (ready[2].revents != 0)
      read_connection();
    if (ready[3].revents != 0) {
      ::close(std::exchange(parent_, -1));
      if (counts(SIGTERM, by_parents_end))
        return {SIGTERM, received_signal::origin::parent};
    }
  }
}

void signal_inbox::watch_parent(int descriptor) {
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  parent_ = descriptor;
}

bool signal_inbox::counts(int signal, int64_t sender) {
  return std::find(ending_.begin(), ending_.end(), signal) == ending_.end()
         || echoes_.counts(signal, sender, clock::now());
}

void signal_inbox::listen(int connection, std::string rest) {
  connection_ = connection;
  bytes_ = std::move(rest);
  heard_ = clock::now();
}

// Lines that are none of ours are dropped, as is one without an end.
received_signal signal_inbox::take_notice() {
  for (auto end = bytes_.find('\n'); end != bytes_.npos;
       end = bytes_.find('\n')) {
    const auto x = core::parse_notice(std::string_view{bytes_}.substr(0, end));
    bytes_.erase(0, end + 1);
    if (x && x->what != core::agent_notice::kind::alive)
      return {x->signal, x->what == core::agent_notice::kind::end
                           ? received_signal::origin::ordered
                           : received_signal::origin::forwarded};
  }
  if (!std::exchange(is_cut_off_, false))
    return {};
  return {SIGHUP, received_signal::origin::disconnected};
}

void signal_inbox::read_connection() {
  char piece[core::order_line_max];
  const auto n = ::read(connection_, piece, sizeof piece);
  if (n < 0 && (errno == EINTR || errno == EAGAIN))
    return;
  if (n > 0) {
    heard_ = clock::now();
    if (bytes_.size() > core::order_line_max)
      bytes_.clear();
    bytes_.append(piece, static_cast<size_t>(n));
    return;
  }
  hang_up();
}

void signal_inbox::hang_up() {
  ::close(std::exchange(connection_, -1));
  is_cut_off_ = true;
}

void signal_inbox::wake_up() {
  const auto one = uint64_t{1};
  [[maybe_unused]] const auto n = ::write(wake_up_, &one, sizeof one);
}

} // namespace actorrun::cli
