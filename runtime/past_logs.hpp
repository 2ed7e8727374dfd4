// Finds and reads the log files of jobs that do not run on this host any more.
#pragma once

#include "messages/ids.hpp"
#include "messages/result.hpp"
#include "runtime/job_logs.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace actorrun {

/// Where one agent of a job has, or had, its workers' log files.
struct log_place {
  job_id job{};
  std::string host{};
  std::string agent{};    ///< Its id.
  std::string folder{};   ///< Of all its files; empty: there is none in common.
  int64_t began_ms = 0;   ///< Unix time, as is the next.
  int64_t changed_ms = 0; ///< Of the last generation, or of the end.
  bool is_here = false;   ///< Its files can be read on this host.
};

/// Those that agents have noted in a folder, which is that of the journals: the agents
/// of this host, or of all hosts that share it. Those that were noted last in front.
std::vector<log_place> list_log_places(const std::string& folder);

struct past_log_options {
  std::string folder{}; ///< Where journals are.
  std::string job{};    ///< Its id.
  /// The newest generation of the job, if the caller knows it; 0: as the agents have
  /// noted.
  generation_id newest{};
};

/// Reads log files of a job's workers that are on this host, as `read_logs` does. Of
/// agents with one job id, those count that were there at the same time as the last.
/// @param how What is followed has an end: all ends with what is there.
/// @retval errc::connection_refused  nothing is noted of the job's files
/// @retval errc::bad_argument        no worker, node or expression is such; the text
///                                   says which
/// @retval errc::system_failure      there is no thread
result<void>
read_past_logs(const past_log_options& which, const log_reading_options& how,
               const std::function<bool(const v1::LogLines&)>& on_lines);

} // namespace actorrun
