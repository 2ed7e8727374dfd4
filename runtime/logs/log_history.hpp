// Reads what one worker has written to one log file, with what was rotated away.
#pragma once

#include "messages/result.hpp"
#include "runtime/logs/rotation_book.hpp"
#include "runtime/os/file.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::detail {

/// The rotated files and the one that the worker writes to, as one sequence of
/// bytes; offsets count from the first that was there when it was opened.
class log_history {
public:
  /// @param shift Of the file, from the book that whoever rotates it uses.
  /// @returns none: there is no file yet
  /// @retval errc::system_failure  it cannot be read; the text says why
  static result<std::optional<log_history>>
  open(const std::string& path, std::shared_ptr<file_shift> shift);

  /// The first byte that there is. What is before was given up for space.
  uint64_t begin() const { return begin_; }

  /// Where the file ends now.
  uint64_t end() const;

  /// When the worker has last written, Unix time in ms.
  int64_t changed_ms() const;

  struct part {
    std::string bytes{};
    uint64_t lost = 0; ///< Bytes before them that are not there any more.
  };

  /// Reads up to `limit` bytes from `offset` on; fewer at an end, none when there
  /// are none or the file moves just now.
  part read(uint64_t offset, size_t limit) const;

  /// Opens what was rotated away since then; offsets stay.
  /// @param path As for `open`.
  /// @returns false: bytes were given up meanwhile, so their place is not known
  bool reopen(const std::string& path);

private:
  struct older_file {
    regular_file file;
    uint64_t begin = 0; ///< Of its bytes, in the sequence.
  };

  log_history(regular_file live, std::shared_ptr<file_shift> shift,
              const file_shift::view& opened)
    : live_(std::move(live)), shift_(std::move(shift)), opened_(opened) {}

  void place(std::vector<regular_file> older);
  uint64_t front(const file_shift::view& now) const;

  std::vector<older_file> older_{};
  regular_file live_;
  uint64_t live_begin_ = 0; ///< Where the live file began when it was opened.
  uint64_t begin_ = 0;
  std::shared_ptr<file_shift> shift_;
  file_shift::view opened_; ///< As it was then.
};

} // namespace actorrun::detail
