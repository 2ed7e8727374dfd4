// Decides from what is at a path whether the machine is about to go.
#pragma once

#include "actors/core/time.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace actorrun::core {

/// Which file is at a path, and as of which write.
struct file_version {
  uint64_t device = 0;
  uint64_t inode = 0;
  uint64_t size = 0;
  int64_t written_ns = 0; ///< Its time of modification.

  friend bool operator==(const file_version&, const file_version&) = default;
};

struct file_look {
  std::optional<file_version> version{}; ///< None: there is no file.
  std::string first_line{};              ///< As far as it was read.
  bool is_line_whole = false;            ///< Its end was there.
};

/// A file that appears says that the machine goes, and so does one that was there at
/// the start and is another one now, or was written again. Its first line says why; a
/// line without an end may still be written.
class file_watch {
public:
  /// For so long a line may be without its end.
  static constexpr auto settle_max = std::chrono::milliseconds{200};

  /// @param at_start As it was then; none: there was none.
  explicit file_watch(std::optional<file_version> at_start)
    : known_(at_start) {}

  /// @returns the first line, once, when the machine is about to go
  std::optional<std::string> step(const file_look& look, time_point now);

  /// When to look again at the latest; none: whenever something happens.
  std::optional<time_point> due() const { return due_; }

private:
  std::optional<file_version> known_;
  std::optional<time_point> due_; ///< Of a file that has appeared or changed.
  std::string line_;
  bool is_over_ = false;
};

} // namespace actorrun::core
