#include "runtime/os/resource_limits.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/os/control_group.hpp"
#include "runtime/os/file.hpp"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <utility>

#include <sys/resource.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

std::atomic<int> exit_code{-1};

std::function<void(const std::string&)>& words_at_exit() {
  static auto out = std::function<void(const std::string&)>{};
  return out;
}

std::optional<rlim_t> limit_of(__rlimit_resource which) {
  auto limit = rlimit{};
  if (::getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::nullopt;
  return limit.rlim_cur;
}

std::optional<long> number_in(const std::string& path) {
  const auto text = read_kernel_file(path);
  if (text.empty() || text[0] < '0' || text[0] > '9')
    return std::nullopt; // `max`
  return std::strtol(text.c_str(), nullptr, 10);
}

/// The control group, ours or one above it, that has as many processes as it may.
std::string full_group() {
  for (auto path = unified_folder(); path.size() > 1;
       path = path.substr(0, path.rfind('/'))) {
    const auto max = number_in(path + "/pids.max");
    const auto now = number_in(path + "/pids.current");
    // Ours may have ended meanwhile: what failed is not counted.
    if (max && now && *now + 1 >= *max)
      return formatted("pids.max of {} is {}", path, *max);
  }
  return {};
}

std::string process_limit() {
  if (auto group = full_group(); !group.empty())
    return group;
  if (const auto limit = limit_of(RLIMIT_NPROC); limit && ::geteuid() != 0)
    return formatted("RLIMIT_NPROC: ulimit -u is {}", *limit);
  return "kernel.pid_max, kernel.threads-max, or pids.max of a control group";
}

// The soft limit was raised to the hard one.
std::string descriptor_limit() {
  const auto limit = limit_of(RLIMIT_NOFILE);
  return limit ? formatted("RLIMIT_NOFILE: ulimit -Hn is {}", *limit)
               : "RLIMIT_NOFILE";
}

} // namespace

std::string limit_behind(int error) {
  switch (error) {
    case EAGAIN:
      return process_limit();
    case EMFILE:
      return descriptor_limit();
    case ENFILE:
      return "fs.file-max, of the whole machine";
    case ENOMEM:
      if (const auto limit = limit_of(RLIMIT_AS))
        return formatted("RLIMIT_AS: ulimit -v is {}", *limit / 1'024);
      return "memory, or vm.overcommit_memory";
    default:
      return {};
  }
}

std::string system_error_text(int error) {
  return error == EAGAIN ? core::error_text(error) : start_error_text(error);
}

std::string start_error_text(int error) {
  const auto limit = limit_behind(error);
  return limit.empty() ? core::error_text(error)
                       : formatted("{} ({})", core::error_text(error), limit);
}

void exit_for_lack_with(int code,
                        std::function<void(const std::string&)> last_words) {
  words_at_exit() = std::move(last_words);
  exit_code = code;
}

void end_for_lack_of(const char* what, int error) {
  const auto sentence
    = formatted("the system gives no {}: {}", what, start_error_text(error));
  std::fputs(formatted("actorrun: error: {}\n", sentence).c_str(), stderr);
  if (const auto code = exit_code.load(); code >= 0) {
    // Saying it may lack something, too.
    static auto has_said = std::atomic_flag{};
    if (const auto& say = words_at_exit(); say && !has_said.test_and_set())
      say(sentence);
    ::_exit(code);
  }
  std::abort();
}

} // namespace actorrun::detail
