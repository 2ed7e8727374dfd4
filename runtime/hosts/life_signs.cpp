#include "actors/core/hosts/agent_order.hpp"
#include "runtime/host_agents.hpp"
#include "runtime/network/keys.hpp"
#include "runtime/network/presence.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun {

namespace {

/// Our standard output, as a way that never makes us wait: workers write to the same
/// pipe, and the other side may read nothing for a while.
class line_back {
public:
  line_back() {
    struct stat what {};
    if (::fstat(STDOUT_FILENO, &what) != 0)
      return;
    is_socket_ = S_ISSOCK(what.st_mode);
    if (S_ISFIFO(what.st_mode)) // One of its own, which alone does not block.
      pipe_ = detail::unique_fd{
        ::open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_CLOEXEC)};
  }

  /// In one piece, or not at all.
  void write(std::string_view bytes) const {
    [[maybe_unused]] auto n = ssize_t{0};
    if (is_socket_)
      n = ::send(STDOUT_FILENO, bytes.data(), bytes.size(),
                 MSG_DONTWAIT | MSG_NOSIGNAL);
    else if (pipe_)
      n = ::write(pipe_.get(), bytes.data(), bytes.size());
  }

private:
  bool is_socket_ = false;
  detail::unique_fd pipe_{};
};

} // namespace

struct life_signs::shared {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_over = false;
};

life_signs::life_signs() : shared_(std::make_shared<shared>()) {
  // Signals are for the thread that has asked for them.
  auto all = sigset_t{};
  auto before = sigset_t{};
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread{[state = shared_] {
    const auto line = line_back{};
    auto lock = std::unique_lock{state->mutex};
    while (!state->is_over) {
      line.write(core::life_sign);
      state->changed.wait_for(lock, core::life_sign_interval);
    }
  }};
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

life_signs::~life_signs() {
  {
    const auto guard = std::lock_guard{shared_->mutex};
    shared_->is_over = true;
  }
  shared_->changed.notify_all();
  thread_.join();
}

bool is_earlier_launch_here(const job_id& job, const std::string& launch) {
  return detail::is_other_launch_present(detail::fingerprint_of(job), launch);
}

} // namespace actorrun
