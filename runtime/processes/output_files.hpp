// Opens the output files of one batch of processes and counts those that cannot
// be opened.
#pragma once

#include "actors/core/workers/worker_outputs.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstddef>
#include <string>
#include <unordered_set>

namespace actorrun::detail {

inline constexpr auto null_device = "/dev/null";

/// The outputs of one process. Its destructor closes the files; the process has
/// its own copies by then.
struct open_outputs {
  int out = -1; ///< From 3 on; -1: the process inherits 1.
  int err = -1; ///< Likewise; the same as `out` if both write to one file.
  /// errno: there is not even a `/dev/null`, or no descriptor for a file just now.
  int error = 0;
  std::string subject = null_device; ///< What the error is about.

  unique_fd out_file{};
  unique_fd err_file{};
};

/// If a file cannot be opened, its process runs and its output goes to
/// `/dev/null`; unless something is lacking that may be there a moment later.
class output_files {
public:
  /// @param null Where `/dev/null` is open for writing; kept from batch to
  ///             batch. Opened when it is needed, if it is empty.
  explicit output_files(unique_fd& null) : null_(&null) {}

  /// Opens files for appending, with what the umask leaves of 0666: rotation
  /// may shorten them underneath. The first process of the batch that names a
  /// file empties it, others add to it. Never waits for the reader of a pipe.
  /// Below a guarded folder no link is followed (`os/folder.hpp`).
  open_outputs open(const core::stream_target& out,
                    const core::stream_target& err);

  /// The files that could not be opened, in one line for people; empty if all
  /// could.
  std::string complaint() const;

private:
  int open_target(const core::stream_target& target, unique_fd& file);
  int open_file(const std::string& path, unique_fd& file);
  int discard();

  unique_fd* null_;
  int null_error_ = 0;
  int shortage_ = 0; ///< errno, of the last `open`; and for which path.
  std::string short_path_;
  std::unordered_set<std::string> emptied_;
  std::string first_path_;
  std::string first_reason_;
  size_t failure_count_ = 0;
};

} // namespace actorrun::detail
