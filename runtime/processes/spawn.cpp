#include "runtime/processes/spawn.hpp"

#include "runtime/os/descriptor_room.hpp"
#include "runtime/os/resource_limits.hpp"
#include "runtime/os/thread.hpp"
#include "runtime/processes/worker_cgroup.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include <linux/sched.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
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
  int to_join = -1; ///< A control group that the kernel did not make it in.
  volatile int cgroup_error = 0;
  volatile int error = 0;
};

// Returns only with the errno of the step that failed.
int become(child_context& context) {
  if (context.to_join >= 0)
    context.cgroup_error = join_cgroup(context.to_join, ::getpid());
  if (const auto error = lead_session(context.parent, context.gate))
    return error;
  // Descriptors are a copy already; only memory is shared.
  if (const auto error = place_files(*context.files))
    return error;
  restore_descriptor_limit();
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

// `clone` has no room for a control group, and glibc does not offer `clone3`. The
// child runs on its own stack and never returns.
// @returns the pid, or a negative errno
pid_t clone_into(clone_args& arguments, child_context& context) {
#if defined(__x86_64__)
  auto result = long{SYS_clone3};
  register auto run asm("r12") = &child_main;
  register auto* data asm("r13") = &context;
  asm volatile("syscall\n\t"
               "test %%rax, %%rax\n\t"
               "jnz 1f\n\t"
               "xor %%ebp, %%ebp\n\t"
               "mov %%r13, %%rdi\n\t"
               "call *%%r12\n\t"
               "hlt\n"
               "1:"
               : "+a"(result)
               : "D"(&arguments), "S"(sizeof arguments), "r"(run), "r"(data)
               : "rcx", "r11", "memory", "cc");
  return static_cast<pid_t>(result);
#elif defined(__aarch64__)
  register auto number asm("x8") = long{SYS_clone3};
  register auto result asm("x0") = reinterpret_cast<long>(&arguments);
  register auto size asm("x1") = long{sizeof arguments};
  register auto run asm("x20") = &child_main;
  register auto* data asm("x21") = &context;
  asm volatile("svc 0\n\t"
               "cbnz x0, 1f\n\t"
               "mov x29, xzr\n\t"
               "mov x0, x21\n\t"
               "blr x20\n\t"
               "brk 0\n"
               "1:"
               : "+r"(result)
               : "r"(number), "r"(size), "r"(run), "r"(data)
               : "memory", "cc");
  return static_cast<pid_t>(result);
#else
  (void)arguments;
  (void)context;
  return -ENOSYS;
#endif
}

constexpr auto clone_flags = CLONE_VM | CLONE_VFORK | CLONE_PIDFD;

// @returns the pid, or a negative errno
pid_t clone_child(child_context& context, char* stack, int cgroup, int& pidfd) {
  if (cgroup >= 0) {
    auto arguments = clone_args{};
    arguments.flags = clone_flags | CLONE_INTO_CGROUP;
    arguments.pidfd = reinterpret_cast<uintptr_t>(&pidfd);
    arguments.exit_signal = SIGCHLD;
    arguments.stack = reinterpret_cast<uintptr_t>(stack);
    arguments.stack_size = stack_size;
    arguments.cgroup = static_cast<uint64_t>(cgroup);
    if (const auto pid = clone_into(arguments, context); pid > 0)
      return pid;
    context.to_join = cgroup; // A sandbox may refuse this call only.
  }
  const auto pid = ::clone(child_main, stack + stack_size,
                           clone_flags | SIGCHLD, &context, &pidfd);
  return pid < 0 ? -errno : pid;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  auto result = std::vector<char*>{};
  result.reserve(strings.size() + 1);
  for (const auto& x : strings)
    result.push_back(const_cast<char*>(x.c_str())); // exec does not write.
  result.push_back(nullptr);
  return result;
}

} // namespace

void reap(int pidfd) {
  auto info = siginfo_t{};
  const auto id = static_cast<id_t>(pidfd);
  while (::waitid(P_PIDFD, id, &info, WEXITED | __WALL) != 0
         && errno == EINTR) {
  }
}

spawner::spawner() {
  auto* memory
    = ::mmap(nullptr, guard_size + stack_size, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED || ::mprotect(memory, guard_size, PROT_NONE) != 0) {
    end_for_lack_of("memory", errno);
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
    const auto x = clone_child(context, stack_ + guard_size,
                               gate ? gate->cgroup() : -1, pidfd);
    return std::pair{x, x < 0 ? -x : context.error};
  }();
  if (pid > 0 && error != 0)
    reap(pidfd);
  auto owned = unique_fd{pidfd};
  if (error != 0)
    return {.pid = 0, .pidfd = {}, .error = error, .cgroup_error = 0};
  return {.pid = pid,
          .pidfd = std::move(owned),
          .error = 0,
          .cgroup_error = context.cgroup_error};
}

} // namespace actorrun::detail
