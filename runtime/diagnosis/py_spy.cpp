#include "runtime/diagnosis/py_spy.hpp"

#include "runtime/os/spawn_settings.hpp"
#include "runtime/os/thread.hpp"
#include "runtime/os/unique_fd.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// Longest wait for the end of a py-spy that was killed: one that hangs in the
/// kernel is left.
constexpr auto end_max = milliseconds{20};

/// A py-spy that runs.
struct asking {
  pid_t pid = 0;
  unique_fd pidfd{};
  unique_fd output{};
  std::string text{};
};

int milliseconds_until(core::time_point due) {
  const auto left
    = std::chrono::ceil<milliseconds>(due - steady_clock::now()).count();
  return static_cast<int>(std::max<int64_t>(left, 0));
}

asking ask(const std::string& program, int64_t pid) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return {};
  auto out = asking{};
  out.output = unique_fd{ends[0]};
  const auto input = unique_fd{ends[1]};
  ::fcntl(out.output.get(), F_SETFL, O_NONBLOCK);
  const auto settings = spawn_settings{input.get()};
  auto words = std::array{std::string{"py-spy"}, std::string{"dump"},
                          std::string{"--pid"}, std::to_string(pid)};
  auto arguments = std::array<char*, words.size() + 1>{};
  std::ranges::transform(words, arguments.begin(),
                         [](auto& x) { return x.data(); });
  if (::posix_spawn(&out.pid, program.c_str(), settings.actions(),
                    settings.attributes(), arguments.data(), ::environ)
      != 0)
    return {};
  out.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, out.pid, 0)));
  return out;
}

/// Takes what there is. @returns false at the end
bool read_some(asking& x) {
  auto place = std::array<char, 4'096>{};
  const auto n = ::read(x.output.get(), place.data(), place.size());
  if (n < 0)
    return errno == EAGAIN || errno == EINTR;
  const auto room = python_stack_size_max - x.text.size();
  x.text.append(place.data(), std::min(static_cast<size_t>(n), room));
  return n > 0;
}

/// Until all have closed their ends, or the deadline.
void read_all(std::vector<asking>& all, core::time_point deadline) {
  for (;;) {
    auto places = std::vector<pollfd>{};
    auto whose = std::vector<asking*>{};
    for (auto& x : all)
      if (x.output) {
        places.push_back(
          {.fd = x.output.get(), .events = POLLIN, .revents = 0});
        whose.push_back(&x);
      }
    const auto wait = milliseconds_until(deadline);
    if (places.empty() || wait == 0)
      return;
    if (::poll(places.data(), places.size(), wait) < 0 && errno != EINTR)
      return;
    for (size_t i = 0; i < places.size(); ++i)
      if (places[i].revents != 0 && !read_some(*whose[i]))
        whose[i]->output.reset();
  }
}

bool has_ended(const asking& x, int wait_ms) {
  auto end = pollfd{.fd = x.pidfd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&end, 1, wait_ms) == 1;
}

/// Ends it and all that it started. A text that is not whole is none.
void finish(asking& x, core::time_point deadline) {
  const auto in_time = !x.output && has_ended(x, milliseconds_until(deadline));
  if (!in_time) {
    ::kill(-x.pid, SIGKILL);
    has_ended(x, static_cast<int>(end_max.count()));
  }
  auto status = 0;
  const auto reaped = ::waitpid(x.pid, &status, WNOHANG) == x.pid;
  if (!reaped) // The kernel holds it up; until it is waited for, it stays.
    run_aside([pid = x.pid] { ::waitpid(pid, nullptr, 0); });
  if (!in_time || !reaped || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    x.text.clear();
}

} // namespace

std::string find_py_spy(std::string_view search_path) {
  while (!search_path.empty()) {
    const auto end = std::min(search_path.find(':'), search_path.size());
    const auto folder = search_path.substr(0, end);
    search_path.remove_prefix(std::min(end + 1, search_path.size()));
    const auto path = std::string{folder} + "/py-spy";
    struct stat info = {};
    if (folder.starts_with('/') && ::stat(path.c_str(), &info) == 0
        && S_ISREG(info.st_mode) && ::access(path.c_str(), X_OK) == 0)
      return path;
  }
  return {};
}

std::vector<std::string> python_stacks(const std::string& program,
                                       const std::vector<int64_t>& pids,
                                       core::time_point deadline) {
  auto all = std::vector<asking>{};
  const auto count = std::min(pids.size(), python_stacks_max);
  for (size_t i = 0; i < count; ++i)
    all.push_back(ask(program, pids[i]));
  read_all(all, deadline);
  auto out = std::vector<std::string>(pids.size());
  for (size_t i = 0; i < count; ++i) {
    if (all[i].pid == 0)
      continue;
    finish(all[i], deadline);
    out[i] = std::move(all[i].text);
  }
  return out;
}

} // namespace actorrun::detail
