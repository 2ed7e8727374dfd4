// Notes where the log files of a node's workers are, so that they are found when the
// job has ended.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/workers/worker_outputs.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"
#include "runtime/os/task_thread.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace actorrun::detail {

/// One agent of one job, and the folder of its log files.
struct log_run {
  job_id job{};
  std::string host{};
  agent_id agent{};
  int64_t pid = 0;
  std::string folder{};      ///< Empty: the files are in no common one.
  int64_t began_ms = 0;      ///< Unix time, as are the next.
  int64_t ended_ms = 0;      ///< 0: it runs, or was killed.
  int64_t changed_ms = 0;    ///< When the record was written last.
  std::string record_path{}; ///< Of its file.
};

/// The files of one generation of a node.
struct recorded_generation {
  core::generation_plan plan{};       ///< Only who has which rank, and of what.
  core::generation_outputs outputs{}; ///< Only what the workers write to files.
  int64_t begun_ms = 0;               ///< Unix time.
};

struct log_record {
  log_run run{};
  std::vector<recorded_generation> generations{}; ///< In order.
};

/// As JSON, with a line end.
std::string to_json(const log_record& x);

/// @retval errc::bad_argument  it is no record; the text says why
result<log_record> log_record_from(const std::string& json);

/// The file of a run in a folder of journals: `JOB.HOST.BEGINNING.PID.logs`.
std::string log_record_path(const std::string& folder, const log_run& x);

/// The records in a folder, those that were written to last in front. What is damaged
/// is left out.
std::vector<log_record> find_log_records(const std::string& folder);

/// So many records are kept; older ones are removed when a new one begins.
inline constexpr size_t log_record_count_max = 200;

/// Of each, so many generations, …
inline constexpr size_t recorded_generation_count_max = 16;

/// … or fewer, where they have more than so many bytes.
inline constexpr size_t log_record_size_max = size_t{1} << 20U;

/// Writes the record of a run: nothing before a worker writes to a file. The thread
/// for files does it, so no caller waits for a file system. A record that cannot be
/// written is missing. For any thread.
class log_recorder {
public:
  /// @param folder Where journals are, not empty; made if it is missing.
  log_recorder(std::string folder, log_run run,
               std::shared_ptr<task_thread> files);

  /// The workers of a generation are about to write to these files.
  void note(const core::generation_plan& plan,
            const core::generation_outputs& outputs, int64_t now_ms);

  /// Nothing is written to these files any more.
  void end(int64_t now_ms);

private:
  class writer;
  std::shared_ptr<writer> writer_; ///< For that thread.
  std::shared_ptr<task_thread> files_;
};

} // namespace actorrun::detail
