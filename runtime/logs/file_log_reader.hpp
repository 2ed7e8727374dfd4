// Reads the workers' log files for operators, on threads of its own.
#pragma once

#include "actors/ports/log_reader.hpp"
#include "runtime/logs/log_record.hpp"
#include "runtime/logs/rotation_book.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>

namespace actorrun::detail {

/// Each reading has a detached thread, which leaves the processors to the workers
/// where they use all (`core::reading_pace`); a file system that hangs costs that
/// reading alone. No listener is called once this object is gone.
class file_log_reader final : public ports::log_reader {
public:
  /// How often files that are followed are looked at. Workers pay for a
  /// notification with each write, and for this not at all.
  static constexpr auto poll_interval = std::chrono::milliseconds{50};

  /// @param book Knows of all rotations of the files.
  /// @param recorder Gets all generations; null: none does.
  explicit file_log_reader(std::shared_ptr<rotation_book> book,
                           std::shared_ptr<log_recorder> recorder = {});
  ~file_log_reader() override;

  file_log_reader(const file_log_reader&) = delete;
  file_log_reader& operator=(const file_log_reader&) = delete;

  void follow(const core::generation_plan& plan,
              const core::generation_outputs& outputs) override;
  uint64_t begin(core::log_selection what, uint32_t credit,
                 listener on_lines) override;
  void add_credit(uint64_t reading, uint32_t size) override;
  void end(uint64_t reading) override;
  void drain(std::function<void()> on_done) override;

  /// The same as `follow` for files that were written to since then; no recorder gets
  /// it.
  void recall(const recorded_generation& x);

private:
  struct shared;
  /// @param begun_ms Unix time.
  void add(const core::generation_plan& plan,
           const core::generation_outputs& outputs, int64_t begun_ms);

  std::shared_ptr<shared> shared_;
  std::shared_ptr<log_recorder> recorder_;
};

} // namespace actorrun::detail
