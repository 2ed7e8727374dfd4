#include "runtime/processes/side_command.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/text.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/spawn_settings.hpp"
#include "runtime/os/thread.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// In bytes, of the end of an output.
constexpr size_t kept_size = 4 * 1'024;

/// So many reads of an output at once: others wait.
constexpr auto reads_max = 16;

/// Longest wait for the end of a command that was killed: one that hangs in the kernel
/// is left.
constexpr auto kill_wait_max = std::chrono::milliseconds{50};

/// As `exit_status` has it, for a command that another part of the program has waited
/// for.
constexpr int unknown_code = 255;

} // namespace

side_command::~side_command() {
  stop();
}

std::string side_command::start(const std::string& command,
                                std::function<void(ending)> on_end) {
  on_end_ = std::move(on_end);
  int out[2];
  int err[2];
  if (::pipe2(out, O_CLOEXEC) != 0)
    return system_error_text(errno);
  const auto out_end = unique_fd{out[1]};
  open_output(out_, unique_fd{out[0]});
  if (::pipe2(err, O_CLOEXEC) != 0) {
    const auto why = system_error_text(errno);
    forget_process();
    return why;
  }
  const auto err_end = unique_fd{err[1]};
  open_output(err_, unique_fd{err[0]});
  return spawn(command, out_end.get(), err_end.get());
}

void side_command::stop() {
  if (pid_ == 0)
    return;
  const auto pid = pid_;
  kill_group();
  auto end = pollfd{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
  ::poll(&end, 1, static_cast<int>(kill_wait_max.count()));
  forget_process();
  if (::waitpid(pid, nullptr, WNOHANG) == 0) // It hangs in the kernel.
    run_aside([pid] { ::waitpid(pid, nullptr, 0); });
}

std::string side_command::spawn(const std::string& command, int out, int err) {
  const auto settings = spawn_settings{out, err};
  auto words = std::array{std::string{"sh"}, std::string{"-c"}, command};
  auto arguments = std::array<char*, words.size() + 1>{};
  std::ranges::transform(words, arguments.begin(),
                         [](auto& x) { return x.data(); });
  auto environment = std::vector<char*>{};
  for (auto& x : config_.environment)
    environment.push_back(x.data());
  environment.push_back(nullptr);
  const auto error
    = ::posix_spawn(&pid_, "/bin/sh", settings.actions(), settings.attributes(),
                    arguments.data(), environment.data());
  if (error != 0) {
    pid_ = 0;
    forget_process();
    return start_error_text(error);
  }
  // The table may be full of workers: then a signal of this program's end is all.
  if (config_.guardian && config_.guardian->ensure() == 0) {
    guarded_ = config_.guardian->enlist(config_.guardian->fire_count());
    if (guarded_)
      guarded_.enter(pid_);
  }
  pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd_) {
    const auto why = system_error_text(errno);
    const auto pid = pid_;
    kill_group();
    forget_process();
    run_aside([pid] { ::waitpid(pid, nullptr, 0); });
    return why;
  }
  loop_.watch(pidfd_.get(), EPOLLIN, [this](uint32_t) { take_end(); });
  return {};
}

void side_command::take_end() {
  auto info = siginfo_t{};
  const auto id = static_cast<id_t>(pid_);
  const auto is_known
    = ::waitid(P_PID, id, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
  if (is_known && info.si_pid == 0)
    return;
  // What is in the pipes; what it has left behind may hold them open.
  for (auto* x : {&out_, &err_})
    if (x->fd)
      read_some(*x);
  auto end = ending{};
  if (!is_known)
    end.code = unknown_code;
  else if (info.si_code == CLD_EXITED)
    end.code = info.si_status;
  else
    end.signal = info.si_status;
  end.last_out = out_.last_line(config_.line_size_max);
  end.last_err = err_.last_line(config_.line_size_max);
  const auto pid = pid_;
  if (is_known)
    kill_group();
  forget_process();
  if (is_known)
    ::waitpid(pid, nullptr, WNOHANG);
  std::exchange(on_end_, nullptr)(std::move(end));
}

/// @pre its leader has not been waited for
void side_command::kill_group() {
  ::kill(-pid_, SIGKILL);
}

/// Before the leader is waited for: then its number may be another's.
void side_command::forget_process() {
  guarded_.reset();
  if (pidfd_)
    loop_.unwatch(pidfd_.get());
  pidfd_.reset();
  for (auto* x : {&out_, &err_}) {
    if (x->fd)
      loop_.unwatch(x->fd.get());
    *x = {};
  }
  pid_ = 0;
}

// -- what it writes -------------------------------------------------------------

void side_command::open_output(output& to, unique_fd fd) {
  to = {};
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  to.fd = std::move(fd);
  loop_.watch(to.fd.get(), EPOLLIN, [this, &to](uint32_t) { read_some(to); });
}

void side_command::read_some(output& from) {
  auto place = std::array<char, kept_size>{};
  for (auto i = 0; i < reads_max; ++i) {
    const auto n = ::read(from.fd.get(), place.data(), place.size());
    if (n < 0)
      return;
    if (n == 0) {
      loop_.unwatch(from.fd.get());
      from.fd.reset();
      return;
    }
    from.end.append(place.data(), static_cast<size_t>(n));
    if (from.end.size() > kept_size) {
      from.end.erase(0, from.end.size() - kept_size);
      from.is_cut = true;
    }
  }
}

std::string side_command::output::last_line(size_t size_max) const {
  return core::one_line(core::last_lines(end, is_cut, 1), size_max);
}

} // namespace actorrun::detail
