#include "actorrun/runtime/detail/spawn.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// The child's stack: a few small frames, and the sanitizers' red zones.
constexpr size_t stack_size = 128 * 1024;

/// Below the stack, so that an overflow faults instead of writing elsewhere.
constexpr size_t guard_size = 64 * 1024;

constexpr std::string_view default_path = "/bin:/usr/bin";

// Lives in the parent, which is suspended while the child uses it.
struct child_context {
  const char* path = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const sigset_t* to_reset = nullptr;
  child_gate* gate = nullptr;
  pid_t parent = 0;
  volatile int error = 0;
};

// The handlers first, then the mask: no handler of the parent may run here.
void reset_signals(const sigset_t& to_reset) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  for (auto number = 1; number < NSIG; ++number)
    if (sigismember(&to_reset, number) == 1)
      ::sigaction(number, &action, nullptr);
  auto none = sigset_t{};
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Returns only with the errno of the step that failed.
int become(const child_context& context) {
  if (::setsid() < 0)
    return errno;
  // Before the death signal: from here on somebody knows this group.
  if (context.gate)
    if (const auto error = context.gate->enter(::getpid()))
      return error;
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
    return errno;
  // A parent that died before the call above sends no signal any more.
  if (::getppid() != context.parent)
    return ESRCH;
  // Descriptors are a copy already; only memory is shared.
  if (::syscall(SYS_close_range, 3U, ~0U, 0U) != 0)
    return errno;
  reset_signals(*context.to_reset);
  ::execve(context.path, context.arguments, context.environment);
  return errno;
}

// ASan takes the foreign stack before a noreturn call for a mistake.
[[gnu::no_sanitize_address]] int child_main(void* data) {
  auto& context = *static_cast<child_context*>(data);
  context.error = become(context);
  if (context.gate)
    context.gate->leave();
  ::_exit(127);
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  auto result = std::vector<char*>{};
  result.reserve(strings.size() + 1);
  for (const auto& x : strings)
    result.push_back(const_cast<char*>(x.c_str())); // exec does not write.
  result.push_back(nullptr);
  return result;
}

void reap(int pidfd) {
  auto info = siginfo_t{};
  const auto id = static_cast<id_t>(pidfd);
  while (::waitid(P_PIDFD, id, &info, WEXITED) != 0 && errno == EINTR) {
  }
}

} // namespace

spawner::spawner() {
  auto* memory
    = ::mmap(nullptr, guard_size + stack_size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED || ::mprotect(memory, guard_size, PROT_NONE) != 0) {
    std::perror("actorrun: spawner");
    std::abort();
  }
  stack_ = static_cast<char*>(memory);
  look_at_signals();
}

void spawner::look_at_signals() {
  sigemptyset(&to_reset_);
  for (auto number = 1; number < NSIG; ++number) {
    struct sigaction now = {};
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler != SIG_DFL)
      sigaddset(&to_reset_, number);
  }
}

spawner::~spawner() {
  ::munmap(stack_, guard_size + stack_size);
}

spawned spawner::start(const std::string& path,
                       const std::vector<std::string>& arguments,
                       const std::vector<std::string>& environment,
                       child_gate* gate) {
  const auto argv = pointers(arguments);
  const auto envp = pointers(environment);
  auto context = child_context{.path = path.c_str(),
                               .arguments = argv.data(),
                               .environment = envp.data(),
                               .to_reset = &to_reset_,
                               .gate = gate,
                               .parent = ::getpid()};
  auto all = sigset_t{};
  auto old = sigset_t{};
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &old);
  auto pidfd = -1;
  const auto pid
    = ::clone(child_main, stack_ + guard_size + stack_size,
              CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD, &context, &pidfd);
  const auto error = pid < 0 ? errno : context.error;
  ::pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (pid > 0 && error != 0)
    reap(pidfd);
  auto owned = unique_fd{pidfd};
  if (error != 0)
    return {.pid = 0, .pidfd = {}, .error = error};
  return {.pid = pid, .pidfd = std::move(owned), .error = 0};
}

// -- program_finder -----------------------------------------------------------

namespace {

std::string_view path_of(const std::vector<std::string>& environment) {
  constexpr auto name = std::string_view{"PATH="};
  for (const auto& x : environment)
    if (x.starts_with(name))
      return std::string_view{x}.substr(name.size());
  return default_path;
}

int check_executable(const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0)
    return errno;
  if (!S_ISREG(status.st_mode))
    return EACCES;
  return ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

// A file that may not be run is remembered, but the search goes on.
program_path search(const std::string& name, std::string_view directories) {
  auto error = ENOENT;
  for (auto more = !name.empty(); more;) {
    const auto colon = directories.find(':');
    const auto directory = directories.substr(0, colon);
    auto path = directory.empty() ? name : std::string{directory} + '/' + name;
    const auto why = check_executable(path);
    if (why == 0)
      return {std::move(path), 0};
    if (why == EACCES)
      error = EACCES;
    more = colon != std::string_view::npos;
    directories.remove_prefix(more ? colon + 1 : 0);
  }
  return {{}, error};
}

} // namespace

const program_path&
program_finder::find(const std::string& name,
                     const std::vector<std::string>& environment) {
  const auto directories = path_of(environment);
  auto key = std::pair{name, std::string{directories}};
  const auto i = found_.find(key);
  if (i != found_.end())
    return i->second;
  auto found = name.find('/') == std::string::npos ? search(name, directories)
                                                   : program_path{name, 0};
  return found_.emplace(std::move(key), std::move(found)).first->second;
}

} // namespace actorrun::detail
