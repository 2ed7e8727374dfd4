// PUBLIC, for worker programs: records why the worker failed, in the file that
// its launcher reads.
#pragma once

#include <functional>
#include <utility>

namespace actorrun {

/// How an uncaught exception ends the program, once it is recorded.
enum class uncaught {
  /// By the previous terminate handler, which by default prints `what()` and
  /// aborts.
  aborts,
  /// Its traceback on standard error, and exit code 1, as in Python.
  exits,
};

/// From now on an uncaught exception, in any thread, and the fatal signals
/// SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT are written to the error file
/// that the variable TORCHELASTIC_ERROR_FILE names: type, text, the call stack
/// and the time, in the form of torch's `@record`. Then the program ends as it
/// would have, core file included. Of several threads that fail at once the
/// first is recorded. What a forked child dies of is not recorded.
///
/// The overflow of a stack can be recorded on the calling thread only, because
/// this gives it a signal stack of its own. Earlier handlers are called
/// afterwards; they must end the program.
///
/// Without the variable only `how` has an effect. Of several calls the first
/// counts. Call it before there are other threads.
void enable_record(uncaught how = uncaught::aborts);

/// Runs a program's main function, with all of this:
///
///     int main(int argc, char** argv) {
///       return actorrun::record(train, argc, argv);
///     }
///
/// @returns what `main_function` returns: an exit code is no failure to record
int record(int (*main_function)(int, char**), int argc, char** argv);

/// The same for any callable that returns an exit code. It catches nothing:
/// while an uncaught exception is recorded, the stack is still that of the
/// `throw`.
template <class Function>
int record(Function&& main_function) {
  enable_record();
  return std::invoke(std::forward<Function>(main_function));
}

} // namespace actorrun
