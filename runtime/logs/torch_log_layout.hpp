// Owns the folders of one agent's logs, in torchrun's layout.
#pragma once

#include "actors/ports/log_layout.hpp"
#include "messages/ids.hpp"
#include "runtime/os/folder.hpp"
#include "runtime/os/temporary_folder.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace actorrun::detail {

/// The part of a file name that stands for a job: letters, digits and `._-+=@,`
/// stay, others become `_`; at most `log_job_name_max` bytes, no dot or dash at
/// the front.
std::string log_job_name(const job_id& job);
inline constexpr size_t log_job_name_max = 200;

class folder_path;

/// Whether anything that workers write goes to files, if there are any.
bool chooses_files(const core::log_options& options);

/// In bytes: what may follow the folder of an agent in a path.
inline constexpr size_t log_path_rest_max = 100;

/// `<base>/<job>_<8 random>/attempt_<restart count>/<local rank>/…`.
///
/// The first two are made once per agent, the rest for every generation. A
/// generation with a restart count that was there before, after a change of
/// membership, gets `attempt_<restart count>.generation_<generation>`: what was
/// written stays. Without a base a new folder for temporary files is one; it goes
/// in the end if no file is in it. If there is no base and no stream goes to a file
/// either, no user expects files: the workers get no folder each, but error
/// files `attempt_<restart count>/error_<local rank>.json`. A folder costs ext4
/// as much as a tenth of a process. If other users can replace what is in the
/// base, the error files are in a folder for temporary files, too.
/// @see torch/distributed/elastic/multiprocessing/api.py, `DefaultLogsSpecs`;
///      it deletes the folder of an attempt that begins again.
class torch_log_layout final : public ports::log_layout {
public:
  /// @param options With folder `/dev/null` nothing is ever made. Temporary
  ///                files are in `$TMPDIR`, or in `/tmp`.
  /// @retval errc::log_failed  a folder cannot be made, or the files in it are
  ///         to be rotated and cannot be; the text names it. What was made before
  ///         is removed.
  static result<std::shared_ptr<torch_log_layout>>
  open(core::log_options options, const job_id& job);

  /// @retval errc::log_failed  as above
  result<core::generation_outputs>
  prepare(const core::generation_plan& plan) override;

  /// Of this agent, absolute; empty if there is none.
  const std::string& folder() const;

  /// Says that other users can replace the folder, and what ends that; empty if
  /// they cannot.
  std::string warning() const;

  /// Whether output goes to files.
  bool fills_files() const { return own_ && chooses_files(options_); }

  /// Whether a file has been written.
  bool holds_files() const;

  /// Call at the end: removes what was made for temporary files and has none.
  void remove_if_unused() const;

private:
  explicit torch_log_layout(core::log_options options)
    : options_(std::move(options)) {}

  bool is_flat() const {
    return options_.folder.empty() && !chooses_files(options_);
  }

  /// Whether error files are not in the folders of the workers.
  bool has_error_folder() const {
    return !options_.folder.empty() && !temporary_.empty();
  }

  result<folder_handle> open_base(folder_path& made);
  result<void> open_error_folder();
  result<void> check_place() const;
  result<std::string> make_attempt(const core::generation_plan& plan);

  core::log_options options_;
  /// The base if no other was asked for; else that of the error files, if they
  /// must not be in the base.
  temporary_folder temporary_;
  std::shared_ptr<const folder_handle> own_; ///< None: no files.
  std::string exposed_;
  std::set<uint32_t> restart_counts_; ///< Of the attempts so far.
};

} // namespace actorrun::detail
