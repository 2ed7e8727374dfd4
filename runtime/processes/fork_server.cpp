#include "runtime/processes/fork_server.hpp"

#include "runtime/processes/fork_request.hpp"
#include "runtime/processes/forked_child.hpp"

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

// What the C library registers with the kernel for a thread. It must be
// registered again in a process that the library has not made.
struct thread_memory {
  int* id = nullptr;       ///< Where the library keeps the thread's id.
  void* mutexes = nullptr; ///< The list of its robust mutexes.
  size_t mutexes_size = 0;

  thread_memory() {
    if (::prctl(PR_GET_TID_ADDRESS, &id, 0, 0, 0) != 0)
      id = nullptr;
    ::syscall(SYS_get_robust_list, 0, &mutexes, &mutexes_size);
  }
};

long clone_call(unsigned long flags, int* child_id) {
#ifdef __x86_64__
  return ::syscall(SYS_clone, flags, nullptr, nullptr, child_id, nullptr);
#else
  return ::syscall(SYS_clone, flags, nullptr, nullptr, nullptr, child_id);
#endif
}

/// What the C library takes for the id of this thread: the owner of a mutex of
/// the kind that must know it.
int id_in_library() {
  auto kind = pthread_mutexattr_t{};
  ::pthread_mutexattr_init(&kind);
  ::pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK);
  auto mutex = pthread_mutex_t{};
  ::pthread_mutex_init(&mutex, &kind);
  ::pthread_mutex_lock(&mutex);
  const auto owner = mutex.__data.__owner;
  ::pthread_mutex_unlock(&mutex);
  return owner;
}

// Since version 2.43 glibc registers another field than the one that holds the
// thread's id. That one is somewhere in its record of the thread; the right one
// is the one by which the answer of the library changes.
void renew_id_in_library(int id) {
  constexpr size_t record_size = 2'048; // bytes; the record is larger.
  const auto old = id_in_library();
  auto* const begin = reinterpret_cast<int*>(::pthread_self());
  for (auto* x = begin; x < begin + record_size / sizeof(int); ++x) {
    if (id_in_library() == id)
      return;
    if (*x != old)
      continue;
    *x = id;
    if (id_in_library() != id)
      *x = old;
  }
}

// The library's `fork` cannot make a child of our parent. The rest of its work
// is for programs with threads, except for the two fields of `thread_memory`.
pid_t fork_for_parent() {
  const auto mine = thread_memory{};
  auto flags = static_cast<unsigned long>(CLONE_PARENT | SIGCHLD);
  if (mine.id)
    flags |= CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
  const auto pid = clone_call(flags, mine.id);
  if (pid == 0 && mine.mutexes)
    ::syscall(SYS_set_robust_list, mine.mutexes, mine.mutexes_size);
  if (pid == 0)
    renew_id_in_library(::gettid());
  return static_cast<pid_t>(pid);
}

[[noreturn]] void become_worker(const fork_request& request, pid_t agent,
                                const fork_entry& run) {
  const auto handshake = request.handshake.get();
  const auto text = read_fork_text(request.text.get());
  if (!text) {
    send_report(handshake, {.pid = ::getpid(), .error = EPROTO});
    ::_exit(EXIT_FAILURE);
  }
  auto descriptors = std::vector<int>{};
  for (const auto& x : request.descriptors)
    descriptors.push_back(x.get());
  const auto& err = request.err_is_out ? request.out : request.err;
  run_forked_child({.agent = agent,
                    .handshake = handshake,
                    .files = {request.out.get(), err.get(), descriptors},
                    .environment = text->environment},
                   [&] { return run(text->arguments); });
}

void make_worker(const fork_request& request, pid_t agent,
                 const fork_entry& run) {
  auto report = child_report{.pid = 0, .error = request.error};
  if (report.error == 0) {
    const auto pid = fork_for_parent();
    if (pid == 0)
      become_worker(request, agent, run);
    report = {.pid = std::max(pid, 0), .error = pid < 0 ? errno : 0};
  }
  send_report(request.handshake.get(), report);
}

void warn_of_threads() {
  auto error = std::error_code{};
  const auto threads
    = std::filesystem::directory_iterator{"/proc/self/task", error};
  const auto count = std::distance(begin(threads), end(threads));
  if (count > 1)
    std::cerr << "actorrun: fork server: " << count - 1
              << " other threads run already; workers will not have them and "
                 "may hang if these hold a lock\n";
}

bool is_server_socket(int fd) {
  auto type = 0;
  auto size = socklen_t{sizeof type};
  return ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) == 0
         && type == SOCK_SEQPACKET;
}

} // namespace

int fork_server_socket() {
  const auto* value = std::getenv(fork_server_variable);
  if (!value)
    return -1;
  const auto text = std::string_view{value};
  auto fd = -1;
  const auto end = std::from_chars(text.begin(), text.end(), fd);
  const auto valid
    = end.ec == std::errc{} && end.ptr == text.end() && is_server_socket(fd);
  ::unsetenv(fork_server_variable);
  return valid && ::fcntl(fd, F_SETFD, FD_CLOEXEC) == 0 ? fd : -1;
}

int serve_forks(int socket_fd, const fork_entry& run) {
  const auto socket = unique_fd{socket_fd};
  const auto agent = ::getppid();
  warn_of_threads();
  flush_streams(); // Else each worker would write them once more.
  while (const auto request = receive_fork_request(socket.get()))
    make_worker(*request, agent, run);
  return EXIT_SUCCESS;
}

} // namespace actorrun::detail
