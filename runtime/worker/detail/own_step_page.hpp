// Owns the page by which this process says how long its steps take and what it has saved.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace actorrun::worker {

/// Of one process, and one of each session: that which asked for it first. A forked child has
/// none. Never unmapped, since threads may use it when the process exits.
class own_step_page {
public:
  /// Maps the file `<ACTORRUN_STEPS><session>.steps` with the first call.
  static own_step_page& instance();

  void add(std::chrono::nanoseconds time) noexcept;

  // Any thread may call these.
  void begin_save() noexcept;

  /// The save that has begun, or one that took no time.
  void end_save() noexcept;

  /// Does nothing if none has begun.
  void close_save(bool is_complete) noexcept;
  void add_save(std::chrono::nanoseconds time) noexcept;

private:
  own_step_page();
  bool open(const char* prefix);
  static void forget();
  uint64_t stop_saving(uint64_t since, uint64_t now);
  void mark_saved(uint64_t up_to, uint64_t saving_before);

  uint64_t* words_ = nullptr; ///< Null: there is none.
  std::mutex saves_mutex_;    ///< For their words.
};

} // namespace actorrun::worker
