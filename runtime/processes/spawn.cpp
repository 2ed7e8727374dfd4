#include "runtime/processes/spawn.hpp"

#include "runtime/os/thread.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

/// The child's stack: a few small frames, and the sanitizers' red zones.
constexpr size_t stack_size = 128 * 1024;

/// Below the stack, so that an overflow faults instead of writing elsewhere.
constexpr size_t guard_size = 64 * 1024;

// Lives in the parent, which is suspended while the child uses it.
struct child_context {
  const char* path = nullptr;
  char* const* arguments = nullptr;
  char* const* environment = nullptr;
  const sigset_t* to_reset = nullptr;
  child_gate* gate = nullptr;
  const child_files* files = nullptr;
  const cpu_binding* binding = nullptr;
  pid_t parent = 0;
  volatile int error = 0;
};

// Returns only with the errno of the step that failed.
int become(const child_context& context) {
  if (const auto error = lead_session(context.parent, context.gate))
    return error;
  // Descriptors are a copy already; only memory is shared.
  if (const auto error = place_files(*context.files))
    return error;
  if (const auto error = context.binding->apply())
    return error;
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
  inspect_signals();
}

void spawner::inspect_signals() {
  to_reset_ = changed_signals();
}

spawner::~spawner() {
  ::munmap(stack_, guard_size + stack_size);
}

spawned spawner::start(const std::string& path,
                       const std::vector<std::string>& arguments,
                       const std::vector<std::string>& environment,
                       child_gate* gate, const child_files& files,
                       const cpu_binding& binding) {
  const auto argv = pointers(arguments);
  const auto envp = pointers(environment);
  auto context = child_context{.path = path.c_str(),
                               .arguments = argv.data(),
                               .environment = envp.data(),
                               .to_reset = &to_reset_,
                               .gate = gate,
                               .files = &files,
                               .binding = &binding,
                               .parent = ::getpid()};
  auto pidfd = -1;
  const auto [pid, error] = [&] {
    const auto blocked = signals_blocked{};
    const auto x = ::clone(child_main, stack_ + guard_size + stack_size,
                           CLONE_VM | CLONE_VFORK | CLONE_PIDFD | SIGCHLD,
                           &context, &pidfd);
    return std::pair{x, x < 0 ? errno : context.error};
  }();
  if (pid > 0 && error != 0)
    reap(pidfd);
  auto owned = unique_fd{pidfd};
  if (error != 0)
    return {.pid = 0, .pidfd = {}, .error = error};
  return {.pid = pid, .pidfd = std::move(owned), .error = 0};
}

} // namespace actorrun::detail
