// Reads the line in which the kernel describes a process or one of its threads.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::core {

/// What `/proc/<pid>/stat` says, as far as we need it.
struct process_stat {
  std::string name{};  ///< As the kernel cuts it; any bytes.
  char state = '?';    ///< One letter: see proc(5).
  int64_t session = 0; ///< 0: it has none.
  /// In clock ticks since the system was started.
  std::optional<uint64_t> birth{};
  int64_t parent = 0; ///< 0: it has none.
  /// In clock ticks: of all its threads, and of child processes that have ended
  /// and were waited for.
  std::optional<uint64_t> cpu_ticks{};
  std::optional<uint32_t> thread_count{};
  std::optional<uint64_t> resident_pages{};
  uint64_t flags = 0;    ///< The kernel's; see `is_ending`.
  int64_t exit_code = 0; ///< As waitpid(2) has it; 0 also if it is kept secret.

  /// Whether it is decided how the process ends: it runs no code of its own any more
  /// or, if it has several threads, not for long.
  bool is_ending() const;

  friend bool operator==(const process_stat&, const process_stat&) = default;
};

/// @returns nothing if `text` is not such a line; the name, in brackets, may
///          hold blanks and brackets itself
std::optional<process_stat> parse_stat(std::string_view text);

} // namespace actorrun::core
