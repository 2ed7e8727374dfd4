// Waits for the real system: until a condition holds, with a deadline.
#pragma once

#include <chrono>
#include <thread>

namespace actorrun::detail::test_deadline {

/// Long enough for a busy machine; a test that passes never waits that long.
inline constexpr auto timeout = std::chrono::seconds{20};

using clock_type = std::chrono::steady_clock;

/// Returns whether `holds()` becomes true before the deadline.
template <class Predicate>
bool soon(Predicate holds) {
  const auto deadline = clock_type::now() + timeout;
  while (!holds()) {
    if (clock_type::now() > deadline)
      return false;
    // Asks again; nothing depends on the pause.
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  return true;
}

} // namespace actorrun::detail::test_deadline
