// PUBLIC, for worker programs: says why the worker failed, where its launcher
// will look for it.
#pragma once

#include <functional>
#include <utility>

namespace actorrun {

/// What an exception that nobody catches ends in, once it is recorded.
enum class uncaught {
  /// What would have happened anyway: the terminate handler that was there
  /// before, which by default prints `what()` and aborts.
  aborts,
  /// Its traceback on standard error, and exit code 1, as in Python.
  exits,
};

/// From now on an exception that nobody catches, in any thread, and the fatal
/// signals SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT are written to the error
/// file that the variable TORCHELASTIC_ERROR_FILE names: type, text, the call
/// stack and the time, in the form of torch's `@record`. Then the program ends
/// as it would have, core file included. Of several threads that fail at once
/// the first is recorded. What a forked child dies of is not recorded.
///
/// A stack that overflows can be recorded on the calling thread only: give it a
/// signal stack of its own is what this does. Handlers that were there before
/// are called afterwards; they must not take the signal for harmless.
///
/// Without the variable nothing happens but what `how` says. Of several calls
/// the first counts. Call it before there are other threads.
void enable_record(uncaught how = uncaught::aborts);

/// Runs a program's main function, with all of this:
///
///     int main(int argc, char** argv) {
///       return actorrun::record(train, argc, argv);
///     }
///
/// @returns what `main_function` returns: an exit code is no failure to record
int record(int (*main_function)(int, char**), int argc, char** argv);

/// The same for anything that can be called and returns an exit code. It catches
/// nothing: while an exception that nobody catches is looked at, the stack is
/// still what it was at the `throw`.
template <class Function>
int record(Function&& main_function) {
  enable_record();
  return std::invoke(std::forward<Function>(main_function));
}

} // namespace actorrun
