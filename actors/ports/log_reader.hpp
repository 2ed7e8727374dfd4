// Reads the workers' log files for operators.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/logs/log_selection.hpp"
#include "actors/core/workers/worker_outputs.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace actorrun::ports {

/// All calls return at once. Nothing is read that no operator wants, and no more
/// than it takes; workers and their files notice nothing.
class log_reader {
public:
  /// Called on any thread, one at a time per reading; must not block.
  using listener = std::function<void(core::log_chunk)>;

  /// At most this many readings at a time.
  static constexpr size_t reading_count_max = 32;

  virtual ~log_reader() = default;

  /// The workers of a generation are about to write to these files.
  virtual void follow(const core::generation_plan& plan,
                      const core::generation_outputs& outputs)
    = 0;

  /// Begins a reading. Chunks come until one is the end; no chunk costs more than
  /// `core::log_chunk_max`, and all that were not made up for by `add_credit` no
  /// more than the credit.
  /// @param credit In bytes (`core::log_line_cost`), at least
  ///               `core::log_line_cost_max`.
  /// @returns its number, never used again; 0: there are too many, and no chunk
  ///          comes
  virtual uint64_t begin(core::log_selection what, uint32_t credit,
                         listener on_lines)
    = 0;

  /// The operator has taken lines of so many bytes.
  virtual void add_credit(uint64_t reading, uint32_t size) = 0;

  /// No chunk comes from now on.
  virtual void end(uint64_t reading) = 0;

  /// All readings end when they have read what is there.
  /// @param on_done Called once, on any thread, when there is none; not before all
  ///                their chunks. May be called at once.
  virtual void drain(std::function<void()> on_done) = 0;
};

} // namespace actorrun::ports
