#include "runtime/diagnosis/proc_inspector.hpp"

#include "actors/core/text.hpp"
#include "messages/formatted.hpp"
#include "runtime/os/file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// In bytes. `status` is the longest of the files that are read.
constexpr auto kernel_text_max = size_t{4'096};

std::string read_kernel_text(const std::string& path) {
  return read_kernel_file(path, kernel_text_max);
}

std::string folder_of(int64_t pid) {
  return "/proc/" + std::to_string(pid) + "/";
}

std::string folder_of(int64_t pid, int64_t tid) {
  return folder_of(pid) + "task/" + std::to_string(tid) + "/";
}

core::thread_snapshot see(const std::string& folder) {
  auto out = core::thread_snapshot{};
  out.stat = core::parse_stat(read_kernel_text(folder + "stat"))
               .value_or(core::process_stat{});
  out.wchan = read_kernel_text(folder + "wchan");
  if (const auto number
      = core::parse_syscall(read_kernel_text(folder + "syscall")))
    out.syscall = system_call_name(*number);
  return out;
}

/// The first of all threads in front: it has the number of the process.
std::vector<int64_t> threads_of(int64_t pid) {
  auto out = std::vector<int64_t>{pid};
  const auto path = folder_of(pid) + "task";
  const auto folder
    = std::unique_ptr<DIR, int (*)(DIR*)>{::opendir(path.c_str()), &::closedir};
  while (folder) {
    const auto* entry = ::readdir(folder.get());
    if (entry == nullptr)
      break;
    const auto name = std::string_view{entry->d_name};
    auto tid = int64_t{0};
    if (std::from_chars(name.data(), name.data() + name.size(), tid).ec
          == std::errc{}
        && tid != pid)
      out.push_back(tid);
  }
  return out;
}

void add_indented(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    out += "    " + std::string{text.substr(0, end)} + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string describe_thread(int64_t pid, int64_t tid) {
  const auto folder = folder_of(pid, tid);
  const auto snapshot = see(folder);
  auto out = formatted("  thread {} ({}): {}", tid,
                       core::first_line_of(snapshot.stat.name),
                       core::place_of(snapshot));
  if (!snapshot.syscall.empty())
    out += ", system call " + snapshot.syscall;
  out += "\n";
  // Readable only with the privilege to trace the kernel.
  add_indented(out, core::printable(read_kernel_text(folder + "stack")));
  return out;
}

/// The relevant lines of `status`.
std::string describe_status(int64_t pid) {
  constexpr auto wanted = std::array<std::string_view, 8>{
    "VmRSS:",  "VmSwap:", "Threads:", "SigPnd:",
    "ShdPnd:", "SigBlk:", "SigCgt:",  "nonvoluntary_ctxt_switches:"};
  const auto status = read_kernel_text(folder_of(pid) + "status");
  auto text = std::string_view{status};
  auto out = std::string{};
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    if (std::ranges::any_of(wanted,
                            [&](auto x) { return line.starts_with(x); }))
      out += "  " + core::first_line_of(line) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

} // namespace

core::thread_snapshot see_thread(int64_t pid, int64_t tid) {
  return see(folder_of(pid, tid));
}

core::thread_snapshot see_process(int64_t pid) {
  return see_thread(pid, pid);
}

core::thread_snapshot see_hanging_thread(int64_t pid) {
  auto threads = threads_of(pid);
  threads.resize(std::min(threads.size(), snapshot_threads_max));
  for (const auto tid : threads)
    if (auto x = see_thread(pid, tid); x.stat.state == 'D')
      return x;
  return see_process(pid);
}

std::string describe_process(int64_t pid, core::time_point deadline) {
  const auto threads = threads_of(pid);
  auto out = describe_status(pid);
  auto count = size_t{0};
  for (const auto tid : threads) {
    const auto late = std::chrono::steady_clock::now() >= deadline;
    if (count > 0 && (late || count == snapshot_threads_max))
      break;
    out += describe_thread(pid, tid);
    ++count;
  }
  if (count < threads.size())
    out += formatted("  and {} more threads\n", threads.size() - count);
  return out;
}

std::string kernel_stack_of(int64_t pid) {
  return read_kernel_text(folder_of(pid, pid) + "stack");
}

// The calls that wait; their numbers differ between architectures.
std::string system_call_name(int64_t number) {
  static constexpr auto names = std::array{
    std::pair{SYS_read, "read"},
    std::pair{SYS_write, "write"},
    std::pair{SYS_readv, "readv"},
    std::pair{SYS_writev, "writev"},
    std::pair{SYS_pread64, "pread64"},
    std::pair{SYS_pwrite64, "pwrite64"},
    std::pair{SYS_openat, "openat"},
    std::pair{SYS_close, "close"},
    std::pair{SYS_fsync, "fsync"},
    std::pair{SYS_fdatasync, "fdatasync"},
    std::pair{SYS_flock, "flock"},
    std::pair{SYS_ioctl, "ioctl"},
    std::pair{SYS_ppoll, "ppoll"},
    std::pair{SYS_pselect6, "pselect6"},
    std::pair{SYS_epoll_pwait, "epoll_pwait"},
#ifdef SYS_poll
    std::pair{SYS_poll, "poll"},
    std::pair{SYS_select, "select"},
    std::pair{SYS_epoll_wait, "epoll_wait"},
    std::pair{SYS_pause, "pause"},
    std::pair{SYS_open, "open"},
    std::pair{SYS_vfork, "vfork"},
#endif
    std::pair{SYS_clone, "clone"},
    std::pair{SYS_execve, "execve"},
    std::pair{SYS_futex, "futex"},
    std::pair{SYS_nanosleep, "nanosleep"},
    std::pair{SYS_clock_nanosleep, "clock_nanosleep"},
    std::pair{SYS_wait4, "wait4"},
    std::pair{SYS_waitid, "waitid"},
    std::pair{SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    std::pair{SYS_rt_sigsuspend, "rt_sigsuspend"},
    std::pair{SYS_accept, "accept"},
    std::pair{SYS_accept4, "accept4"},
    std::pair{SYS_connect, "connect"},
    std::pair{SYS_recvfrom, "recvfrom"},
    std::pair{SYS_recvmsg, "recvmsg"},
    std::pair{SYS_sendto, "sendto"},
    std::pair{SYS_sendmsg, "sendmsg"},
    std::pair{SYS_sched_yield, "sched_yield"},
    std::pair{SYS_munmap, "munmap"},
    std::pair{SYS_exit_group, "exit_group"},
    std::pair{SYS_restart_syscall, "restart_syscall"},
  };
  const auto i = std::ranges::find_if(
    names, [number](const auto& x) { return x.first == number; });
  return i == names.end() ? formatted("syscall {}", number) : i->second;
}

} // namespace actorrun::detail
