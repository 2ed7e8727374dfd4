// Recognises in the last words of a worker that its program has never begun.
#pragma once

#include "actors/core/failure.hpp"

#include <string>

namespace actorrun::core {

/// What kept the program of a worker that has exited by itself from its first line:
/// `SyntaxError: invalid syntax (train.py, line 3)`, `python3: can't open file …`, or a
/// library that is missing. One line, at most `line_message_max` bytes. Empty: it has
/// begun, or that is not known, as of a worker whose standard error was not kept.
///
/// Python compiles the main program before its first line. An error then has no
/// traceback, or with `-m` one of nothing but Python's own frames; of a module that the
/// program imports, it has one that begins in the program.
/// @complexity O(length of the last words)
std::string why_not_begun(const worker_failure& x);

} // namespace actorrun::core
