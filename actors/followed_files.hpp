// Reads and rotates workers' files for the log tailer, and discards bytes when
// their disk is full.
#pragma once

#include "actors/core/logs/log_retention.hpp"
#include "actors/core/logs/tail_streams.hpp"
#include "actors/core/workers/worker_outputs.hpp"
#include "actors/log.hpp"
#include "actors/ports/log_files.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun {

/// Translates between offsets in streams and in files, and owns the one buffer
/// into which everything is read.
class followed_files {
public:
  using time_point = core::time_point;

  /// @param options `rotate_size` and `rotate_keep` count.
  followed_files(std::shared_ptr<ports::log_files> files,
                 core::log_options options, log lines);

  /// Closes what is open.
  ~followed_files();

  followed_files(const followed_files&) = delete;
  followed_files& operator=(const followed_files&) = delete;

  /// Opens the file of a stream.
  /// @returns why it cannot be opened; empty if it can
  std::string open(core::tail_stream& x);
  /// Does nothing if it was not opened.
  void close(core::tail_stream& x);

  /// How many bytes the stream ever had. @pre it is open, as for all below
  uint64_t end_of(const core::tail_stream& x) const;

  /// What there is of the bytes wanted; valid until the next call.
  std::string_view read(const core::tail_stream& x,
                        const core::line_cursor::request& wanted);

  /// Has `on_growth` called once, on any thread, after the next write. Nothing
  /// happens if that was asked for already and has not come to pass.
  void arm(core::tail_stream& x, std::function<void()> on_growth);

  /// Call when there is nothing to be read: the file may have been emptied, or it
  /// cannot be read. Then the bytes that are waited for never come.
  void find_cut(core::tail_stream& x);

  void rotate_if_due(core::tail_stream& x, time_point now);

  /// Appends lines to a file of ours; what does not fit is counted.
  void append(const std::string& path, std::string_view lines);

  // -- full disks -------------------------------------------------------------

  /// When to call `check_space`, at the earliest.
  time_point next_check() const { return space_.next(); }

  /// Checks, unless that was just done, whether a disk is full, and discards what
  /// can be spared.
  /// @param is_flowing Whether something was read since the last call.
  /// @param all        Those that are not open are left alone.
  void check_space(bool is_flowing, const std::vector<core::tail_stream*>& all,
                   time_point now);

  /// Logs how much has been lost, if that is more than was logged.
  void report_losses();

private:
  uint64_t line_begin_before(const core::tail_stream& x, uint64_t limit);
  void give_up(const core::tail_stream& at,
               const std::vector<core::tail_stream*>& all);
  void discard(core::tail_stream& x, const core::discard_choice& choice);
  bool is_short(const core::tail_stream& x) const;

  std::shared_ptr<ports::log_files> files_;
  core::log_options options_;
  log lines_;
  std::set<ports::log_file_id> open_;
  std::unique_ptr<char[]> buffer_;
  size_t buffer_size_ = 0;
  core::space_ledger space_;
  std::string full_folder_;       ///< Named in the report.
  core::space_ledger unfiltered_; ///< Bytes that could not be appended.
  std::string unfiltered_path_;
};

} // namespace actorrun
