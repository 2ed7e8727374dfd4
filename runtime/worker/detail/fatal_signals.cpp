#include "runtime/worker/detail/fatal_signals.hpp"

#include "runtime/worker/detail/call_stack.hpp"
#include "runtime/worker/detail/careful.hpp"
#include "runtime/worker/detail/error_writer.hpp"
#include "runtime/worker/detail/interrupted.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>

#include <dlfcn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

// All but `catch_fatal_signals` is async-signal-safe: no memory is asked for, no
// lock is taken, no library function called that POSIX or the manual of the C
// library does not list as safe in a handler. What may be missing there is
// looked for beforehand.

namespace actorrun::recording {

namespace {

constexpr int fatal_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr auto signal_stack_size = size_t{128} * 1'024;

struct sigaction previous[std::size(fatal_signals)];

/// The message that the caller of abort() left, assert() for example; glibc
/// keeps it for debuggers.
struct abort_text {
  unsigned size;
  char text[1];
};
abort_text** last_abort = nullptr;

// -- what happened ------------------------------------------------------------

call_stack stack;

// A line that cannot be found out is its address.
void put_line(fixed_text& out, const frame& x) {
  const auto mark = out.size();
  if (survives([&] { put_frame(out, x, put_raw_name); }))
    return;
  out.cut(mark);
  put_bare_frame(out, x);
}

char stack_space[stack_max];

std::string_view stack_text(std::string_view message) {
  auto text = fixed_text{stack_space};
  put_stack(text, stack, put_line);
  text.put(message).put("\n");
  return {stack_space, text.size()};
}

void put_abort_text(fixed_text& out) {
  survives([&out] {
    if (last_abort == nullptr || *last_abort == nullptr)
      return;
    const auto* text = (*last_abort)->text;
    const auto size
      = ::strnlen(text, std::min<size_t>((*last_abort)->size, message_max / 2));
    const auto line = std::string_view{text, size};
    out.put(": ").put(line.substr(0, line.find('\n')));
  });
}

char message_space[message_max];

void put_fault(fixed_text& out, int signal, const siginfo_t& info,
               const interrupted& now) {
  const auto has_address
    = (signal == SIGSEGV || signal == SIGBUS) && info.si_code != SI_KERNEL;
  const auto address = reinterpret_cast<uintptr_t>(info.si_addr);
  if (has_address)
    out.put(" at ").put_hex(address);
  if (has_address && signal == SIGSEGV && now.is_next_to_stack(address))
    out.put(": the stack is full");
  if (signal == SIGFPE && info.si_code == FPE_INTDIV)
    out.put(": an integer was divided by zero");
}

/// `SIGSEGV: Segmentation fault at 0x0`
std::string_view message_of(int signal, const siginfo_t& info,
                            const interrupted& now) {
  auto text = fixed_text{message_space};
  text.put("SIG").put(::sigabbrev_np(signal)).put(": ");
  text.put(::sigdescr_np(signal));
  if (info.si_code > 0)
    put_fault(text, signal, info, now);
  else if (info.si_pid != ::getpid())
    text.put(", sent by process ")
      .put_number(static_cast<uint64_t>(info.si_pid));
  else if (signal == SIGABRT)
    put_abort_text(text);
  return {message_space, text.size()};
}

void record(int signal, const siginfo_t& info, void* context) {
  auto now = interrupted{context};
  now.find_stack(stack);
  const auto message = message_of(signal, info, now);
  write_error(message, stack_text(message));
}

// -- the handler --------------------------------------------------------------

/// Faults in here shall come to the handler, too.
void allow_faults(sigset_t& before) {
  auto faults = sigset_t{};
  ::sigemptyset(&faults);
  for (const auto x : fatal_signals)
    if (x != SIGABRT)
      ::sigaddset(&faults, x);
  ::pthread_sigmask(SIG_UNBLOCK, &faults, &before);
}

// A faulty instruction will fault again when the handler returns to it; then
// the core file shows it, and a parent gets the true reason. A signal that was
// sent must be sent again.
void take_course(int signal, const siginfo_t& info) {
  const auto i
    = std::find(std::begin(fatal_signals), std::end(fatal_signals), signal)
      - std::begin(fatal_signals);
  ::sigaction(signal, &previous[i], nullptr);
  const auto comes_again
    = info.si_code > 0 && !(signal == SIGBUS && info.si_code == BUS_MCEERR_AO);
  if (!comes_again)
    ::syscall(SYS_tgkill, ::getpid(), ::gettid(), signal);
}

void on_fatal_signal(int signal, siginfo_t* info, void* context) {
  const auto error = errno;
  const auto which = is_recording() ? take_turn() : turn::taken;
  if (which == turn::ours_again)
    escape();
  if (which == turn::taken) {
    if (is_recording())
      await_turn();
  } else {
    static volatile sig_atomic_t is_second = 0;
    const auto is_first = is_second == 0;
    is_second = 1;
    // Again: what an exception says of itself could not be found out.
    auto before = sigset_t{};
    allow_faults(before);
    if (is_first)
      record(signal, *info, context);
    end_turn();
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  take_course(signal, *info);
  errno = error;
}

/// For this thread, and as long as it lives.
void set_signal_stack() {
  const auto least = std::max(::sysconf(_SC_MINSIGSTKSZ), 0L);
  const auto size = signal_stack_size + 2 * static_cast<size_t>(least);
  auto present = stack_t{};
  if (::sigaltstack(nullptr, &present) == 0
      && (present.ss_flags & SS_DISABLE) == 0 && present.ss_size >= size)
    return;
  auto* space = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (space == MAP_FAILED)
    return;
  const auto own = stack_t{.ss_sp = space, .ss_flags = 0, .ss_size = size};
  if (::sigaltstack(&own, nullptr) != 0)
    ::munmap(space, size);
}

} // namespace

void catch_fatal_signals() {
  last_abort
    = reinterpret_cast<abort_text**>(::dlsym(RTLD_DEFAULT, "__abort_msg"));
  set_signal_stack();
  // What is done for the first time may take locks.
  walk(stack);
  struct sigaction action {};
  action.sa_sigaction = on_fatal_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < std::size(fatal_signals); ++i) {
    struct sigaction before {};
    ::sigaction(fatal_signals[i], &action, &before);
    if (before.sa_sigaction != on_fatal_signal)
      previous[i] = before;
  }
}

} // namespace actorrun::recording
