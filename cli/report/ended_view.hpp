// Renders jobs that have ended, as their journals tell of them.
#pragma once

#include "actors/core/journal/snapshot.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::cli {

/// In place of a verdict: the coordinator has vanished.
inline constexpr auto lost_job = std::string_view{"lost"};

/// A job that has ended, in short. Texts are printable.
struct ended_job {
  std::string job;
  std::string how;      ///< A verdict, or `lost_job`.
  std::string why;      ///< One line.
  int64_t began_ms = 0; ///< Unix time, as is the next.
  int64_t ended_ms = 0;
  uint64_t generation_count = 0;
  uint32_t restart_count = 0;
  uint32_t restart_count_max = 0;
  std::string host{}; ///< Of the coordinator, as is the next.
  int64_t pid = 0;
  std::string journal{}; ///< The path of its file.
  /// Where log files of its workers are, as far as that is known here: `n1:/logs/…`.
  std::vector<std::string> logs{};
};

/// @param x The end of a journal.
ended_job ended_job_of(const core::journal::snapshot& x,
                       const std::string& journal);

/// A table below a heading; empty if there are none.
std::string ended_to_text(const std::vector<ended_job>& ended);

/// An array.
nlohmann::ordered_json ended_to_json(const std::vector<ended_job>& ended);

} // namespace actorrun::cli
