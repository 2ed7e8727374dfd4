// Records the signals of faults that end a program.
#pragma once

namespace actorrun::recording {

/// From now on SIGSEGV, SIGBUS, SIGFPE, SIGILL and SIGABRT are recorded before
/// they take their course. Gives the calling thread a signal stack, so that this
/// works when its own is full.
/// @pre `map_program` and `open_error_file` have been called
void catch_fatal_signals();

} // namespace actorrun::recording
