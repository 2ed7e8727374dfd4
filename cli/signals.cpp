#include "cli/signals.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace actorrun::cli {

signal_inbox::signal_inbox(const std::vector<int>& signals) {
  auto set = sigset_t{};
  sigemptyset(&set);
  for (auto signal : signals)
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
}

int signal_inbox::wait(milliseconds timeout) {
  auto inputs = {pollfd{signals_, POLLIN, 0}, pollfd{wake_up_, POLLIN, 0}};
  pollfd ready[2];
  for (;;) {
    std::copy(inputs.begin(), inputs.end(), ready);
    const auto count = ::poll(ready, 2, int(timeout.count()));
    if (count == 0 || (count < 0 && errno != EINTR))
      return 0;
    auto info = signalfd_siginfo{};
    if ((ready[0].revents & POLLIN) != 0
        && ::read(signals_, &info, sizeof info) == sizeof info)
      return static_cast<int>(info.ssi_signo);
    auto ignored = eventfd_t{};
    if ((ready[1].revents & POLLIN) != 0
        && ::eventfd_read(wake_up_, &ignored) == 0)
      return 0;
  }
}

void signal_inbox::wake_up() {
  const auto one = uint64_t{1};
  [[maybe_unused]] const auto n = ::write(wake_up_, &one, sizeof one);
}

} // namespace actorrun::cli
