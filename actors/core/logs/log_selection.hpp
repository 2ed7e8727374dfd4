// Names which lines of the workers' log files an operator wants, and what one of
// them is.
#pragma once

#include "actors/core/workers/worker_outputs.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::core {

/// Bytes of a line that an operator gets; the rest of a longer one is left out.
inline constexpr size_t log_line_max = 16 * 1024;

/// What a line costs beyond its text, in bytes of credit.
inline constexpr size_t log_line_overhead = 64;

/// Of the longest line.
inline constexpr size_t log_line_cost_max = log_line_max + log_line_overhead;

/// The lines that travel together cost no more, so that they fit into a message.
inline constexpr size_t log_chunk_max = 48 * 1024;

constexpr size_t log_line_cost(size_t text_size) {
  return text_size + log_line_overhead;
}

/// At most this many ranks are named.
inline constexpr size_t selected_ranks_max = 4096;

/// Of an expression, in bytes.
inline constexpr size_t log_pattern_max = 512;

/// Which lines of which workers.
struct log_selection {
  std::vector<uint32_t> ranks{}; ///< Global; empty: all.
  std_streams outputs = std_streams::all;
  bool previous = false; ///< Of the generation before the newest one.
  /// That one, or the newest, of the job; 0: as this node has taken part in them.
  generation_id generation{};
  bool follow = false;  ///< Go on at the end, also into later generations.
  int64_t since_ms = 0; ///< Unix time; see docs/logs.md; 0: from the beginning.
  std::optional<uint32_t> tail{}; ///< Of each worker's output; none: all.
  std::string grep{}; ///< An extended regular expression; empty: all lines.

  bool has_rank(uint32_t rank) const;

  friend bool operator==(const log_selection&, const log_selection&) = default;
};

/// One line of a worker's log file.
struct log_line {
  uint32_t rank = 0; ///< Global.
  generation_id generation{};
  bool is_err = false;
  std::string text{}; ///< Without the line end; any bytes.
  bool truncated = false;
  int64_t wall_ms = 0; ///< When it was seen to be written; 0: not known.

  friend bool operator==(const log_line&, const log_line&) = default;
};

/// Lines that were read together.
struct log_chunk {
  std::vector<log_line> lines{};
  std::string trouble{}; ///< Why something is missing, for people.
  bool is_end = false;   ///< Nothing follows.
};

/// Whether an expression can be given to regcomp(3) and regexec(3) without harm:
/// they take time and memory without a limit for some.
/// @retval errc::bad_argument  it is too long, refers back, or repeats too often
result<void> check_pattern(std::string_view text);

} // namespace actorrun::core
