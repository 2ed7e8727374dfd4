// Reads the logs of a job's workers, and where they are, from any node.
#pragma once

#include "messages/result.hpp"
#include "runtime/jobs.hpp"

#include "messages/operator.pb.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace actorrun {

struct log_reading_options {
  /// What to read. A window of 0: as much as is good for one reader.
  v1::ReadLogs what{};
  /// Timeout for connecting, and for the first sign.
  std::chrono::milliseconds limit{5'000};
  /// A descriptor: the reading ends when it becomes readable; -1: none.
  int stop = -1;
};

/// Reads log files of a job's workers. Blocks until all is read, `on_lines` returns
/// false or `stop` becomes readable.
/// @param job      An agent of this host knows the workers of its node only.
/// @param on_lines Called on this thread; lines of one output of one worker come in
///                 their order. While it runs, no more than the window is sent. Texts
///                 of workers are as they have written them; all others are
///                 printable.
/// @retval errc::bad_argument       no worker, node or expression is such; the text
///                                  says which
/// @retval errc::connection_failed  the process has ended; and as `status_of`
result<void>
read_logs(const located_job& job, const log_reading_options& how,
          const std::function<bool(const v1::LogLines&)>& on_lines);

/// Finds out where workers of a job are now. Blocks for at most `limit`, which
/// should be 5 s at least.
/// @param ranks Global ones; none: all.
/// @returns printable texts
/// @retval as `read_logs`
result<v1::Stacks> read_stacks(const located_job& job,
                               const std::vector<uint32_t>& ranks,
                               std::chrono::milliseconds limit);

/// Whether an expression can be used to select lines.
/// @retval errc::bad_argument  it cannot; the text says why
result<void> check_log_pattern(const std::string& text);

} // namespace actorrun
