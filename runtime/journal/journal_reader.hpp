// Reads a journal, also while it is written and where it is damaged.
#pragma once

#include "messages/result.hpp"
#include "runtime/journal/journal_lines.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace actorrun::detail {

/// Whose journals are read.
enum class journal_owner : uint8_t {
  any,
  /// Ours, or root's, if no other user can write to them: what they say is obeyed.
  trusted,
};

/// Reads the older file of a journal, if there is one, then the newer one. Lines
/// that are damaged are left out and counted.
class journal_reader {
public:
  /// @retval errc::bad_argument  there is no such file, or it cannot be read
  static result<journal_reader> open(const std::string& path,
                                     journal_owner whose = journal_owner::any);

  /// The next line; none: there is none yet. Asked again, it reads what has come
  /// since then, also if the file was rotated.
  std::optional<journal_line> next();

  uint64_t bad_line_count() const { return bad_line_count_; }

  /// Of the last of them; empty: there was none.
  const std::string& last_trouble() const { return last_trouble_; }

private:
  journal_reader(std::string path, journal_owner whose)
    : path_(std::move(path)), whose_(whose) {}

  bool open_older();
  bool open_newer();
  bool fill();

  std::string path_;
  journal_owner whose_;
  unique_fd fd_;
  bool is_older_ = false;
  std::string buffer_;
  size_t begin_ = 0;         ///< Of what has not been read, in the buffer.
  size_t searched_ = 0;      ///< No line ends between that and here.
  bool is_skipping_ = false; ///< The rest of a line that was too long.
  uint64_t bad_line_count_ = 0;
  std::string last_trouble_;
};

/// All that a journal says of a moment.
/// @param until None: to its end.
/// @retval errc::bad_argument  it cannot be read, or nothing in it can
result<core::journal::snapshot>
read_snapshot(const std::string& path,
              std::optional<core::time_point> until = {},
              journal_owner whose = journal_owner::any);

} // namespace actorrun::detail
