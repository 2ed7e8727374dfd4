// Owns the page by which this process says how long its steps take.
#pragma once

#include <chrono>
#include <cstdint>

namespace actorrun::worker {

/// Of one process, and one of each session: that which asked for it first. A forked child has
/// none. Never unmapped, since threads may use it when the process exits.
class own_step_page {
public:
  /// Maps the file `<ACTORRUN_STEPS><session>.steps` with the first call.
  static own_step_page& instance();

  void add(std::chrono::nanoseconds time) noexcept;

private:
  own_step_page();
  bool open(const char* prefix);
  static void forget();

  uint64_t* words_ = nullptr; ///< Null: there is none.
};

} // namespace actorrun::worker
