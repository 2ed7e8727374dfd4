// Describes where the standard streams of a node's workers go: to the console,
// to files, to both, or nowhere.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::core {

/// One of the two streams a worker writes to.
enum class output_stream : uint8_t { out, err };

/// A set of them, with torchrun's numbers.
/// @see torch/distributed/elastic/multiprocessing/api.py, `Std`.
enum class std_streams : uint8_t { none = 0, out = 1, err = 2, all = 3 };

constexpr bool contains(std_streams set, output_stream x) {
  return (static_cast<uint8_t>(set)
          & (x == output_stream::out ? uint8_t{1} : uint8_t{2}))
         != 0;
}

/// A set of streams for every local rank.
struct stream_choice {
  std_streams everywhere = std_streams::none;
  /// Where ranks are named, the others have `everywhere`.
  std::map<uint32_t, std_streams> by_rank{};

  std_streams of(uint32_t local_rank) const {
    const auto i = by_rank.find(local_rank);
    return i == by_rank.end() ? everywhere : i->second;
  }

  friend bool operator==(const stream_choice&, const stream_choice&) = default;
};

/// In bytes. A file that grows beyond is rotated; smaller makes no sense.
inline constexpr uint64_t rotate_size_min = 64 * 1024;
inline constexpr uint32_t rotate_keep_max = 1'000;

/// What is asked of the workers' output.
struct log_options {
  /// Base of the log folders. Empty: a new one for temporary files. `/dev/null`:
  /// no files at all, everything raw on the console.
  std::string folder{};
  stream_choice redirects{}; ///< Into files, instead of the console.
  stream_choice tees{};      ///< Into files, and their lines on the console.
  /// Local ranks whose output the console shows; none: all.
  std::optional<std::set<uint32_t>> shown_ranks{};
  /// Before each line; `${role_name}`, `${local_rank}`, `${rank}` and
  /// `${hostname}` are replaced. Empty: `[${role_name}${local_rank}]:`.
  std::string prefix_template{};
  /// Lines that are teed and contain one of these are also written to one
  /// filtered file per node.
  std::vector<std::string> stdout_filters{};
  std::vector<std::string> stderr_filters{};
  /// In bytes, at least `rotate_size_min`; 0: never.
  uint64_t rotate_size = 0;
  uint32_t rotate_keep = 3; ///< Rotated files kept, 1..`rotate_keep_max`.
  /// Shows a line that many ranks write at once as one line.
  bool folds_identical = false;

  friend bool operator==(const log_options&, const log_options&) = default;
};

/// Where one stream of one worker goes.
struct stream_target {
  enum class kind : uint8_t {
    inherited, ///< The agent's own stream, raw.
    discarded, ///< `/dev/null`
    file,
  };
  kind where = kind::inherited;
  std::string path{}; ///< Of the file.
  bool shown = false; ///< Whether the lines of the file go to the console, too.

  friend bool operator==(const stream_target&, const stream_target&) = default;
};

/// Where one worker's output goes.
struct worker_outputs {
  stream_target out;
  stream_target err;
  std::string error_file; ///< TORCHELASTIC_ERROR_FILE; empty: none.

  friend bool operator==(const worker_outputs&, const worker_outputs&)
    = default;
};

/// Where all output of one node's generation goes.
struct generation_outputs {
  std::vector<worker_outputs> workers; ///< By local rank.
  std::string
    filtered_out; ///< File for lines that contain a filter; empty: none.
  std::string filtered_err;

  friend bool operator==(const generation_outputs&, const generation_outputs&)
    = default;
};

/// Decides where output goes, in torchrun's layout:
/// `<folder>/<local rank>/{stdout.log,stderr.log,error.json}` and
/// `<folder>/filtered_{stdout,stderr}.log`.
/// @param folder Of this attempt; empty: there are no files, and what is teed or
///               redirected stays on the console.
/// @param slot_count Workers, N; the result has N of them.
/// @see torchrun.md 5.4; local ranks that are not shown keep their files and
///      lose the console.
generation_outputs plan_outputs(const log_options& options,
                                const std::string& folder, uint32_t slot_count);

} // namespace actorrun::core
