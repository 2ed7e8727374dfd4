// Collects the evidence of a worker's death: its error file, its last lines,
// and whether the kernel was short of memory.
#pragma once

#include "actors/ports/failure_evidence.hpp"
#include "runtime/diagnosis/oom_counter.hpp"

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

namespace actorrun::detail {

/// At most this much of standard error is read and shown.
inline constexpr size_t last_words_size_max = size_t{8} * 1'024;
inline constexpr size_t last_words_lines_max = 40;

class worker_evidence : public ports::failure_evidence {
public:
  /// Whether bytes of this log file have just been given up on a full disk.
  using space_question = std::function<bool(const std::string& path)>;

  /// @param was_full Null: no bytes of any were.
  /// @param kills Its counter is read at once, at `begin` and at each SIGKILL.
  explicit worker_evidence(space_question was_full = {},
                           oom_counter kills = oom_counter{})
    : was_full_(std::move(was_full)), kills_(std::move(kills)) {}

  void begin() override;
  core::death_details examine(const ports::process_exited& death,
                              const core::worker_outputs& outputs) override;
  core::death_details examine(const ports::process_not_started& death,
                              const ports::process_spec& spec) override;
  core::death_details recall(const ports::process_exited& death,
                             const core::worker_outputs& outputs) override;
  core::duration age_of(int64_t wall_ms) override;

private:
  bool lacks_space(const core::worker_outputs& x) const;

  space_question was_full_;
  oom_counter kills_;
};

/// The last lines in a file that a worker wrote to; empty if there is none.
std::string last_words(const std::string& path);

} // namespace actorrun::detail
