// Writes the report on a failed job in torchrun's layout.
#pragma once

#include "actors/core/generation.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace actorrun::core {

/// A Unix time in ms as this machine's local time, `2026-08-01_12:34:56`.
using local_time_text = std::function<std::string(int64_t wall_ms)>;

/// The failures of all nodes, the root cause last. Lines end in line ends.
/// Empty if there is no first failure.
///
/// Behind torchrun's six lines a block may have more of the same form: `cause`
/// (what the machine knows), `stuck` (where a worker was whose timer expired, or
/// that cannot be killed), `message` (of the error file, if its traceback does
/// not show it) and `output` (where to find the worker's output).
/// @param name What torchrun names here: the script or module, or with
///             `--no-python` the program.
/// @see torch/distributed/elastic/multiprocessing/errors/__init__.py,
///      `ChildFailedError`: that reports on one node, numbers failures in the
///      order of polling, and calls killed siblings failures.
std::string failure_report(std::string_view name, const outcome& how,
                           const local_time_text& local_time);

/// What the system adds to the status of its death; empty: nothing.
std::string reported_cause(const worker_failure& x);

/// As torchrun counts: the negative number of a signal; for a worker that was
/// not started what a shell says, 127 if there is no such program, else 126.
int reported_exit_code(const worker_failure& x);

/// The text that stands for a traceback where there is none: the signal, or
/// where the news may be found.
std::string substitute_traceback(const worker_failure& x);

} // namespace actorrun::core
