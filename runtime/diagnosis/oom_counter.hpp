// Counts how often the kernel has killed processes because memory was short.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace actorrun::detail {

/// The kernel's counter of processes that it killed because memory was short,
/// among those of this process's control group, which workers are in, too; if
/// that has none, of the whole machine. It does not name the processes: an
/// unexpected SIGKILL is attributed to it if the counter has risen.
class oom_counter {
public:
  /// @param proc The proc file system; tests have their own.
  explicit oom_counter(const std::string& proc = "/proc");

  /// From now on kills are counted.
  void begin();

  /// Claims a kill since `begin` that no call has claimed yet.
  /// @returns whether there was one
  bool claim();

  /// What limits the memory of those processes, for people: `cgroup limit 512
  /// MiB`; empty: only the machine does.
  std::string limit() const;

  /// The file with the counter; empty if there is none. For tests and logs.
  const std::string& source() const { return source_; }

private:
  std::optional<uint64_t> count() const;

  std::string proc_;
  std::string source_;
  uint64_t claimed_ = 0; ///< What the counter was, and what has been claimed.
  bool counts_ = false;
};

} // namespace actorrun::detail
