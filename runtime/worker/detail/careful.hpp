// Calls functions that may fault in a signal handler.
#pragma once

#include <csetjmp>
#include <csignal>

namespace actorrun::recording {

inline sigjmp_buf way_out;
inline volatile sig_atomic_t is_risky = 0;

/// Runs a function that may fault, because a stack or a library may be damaged.
/// One thread at a time; not within itself.
/// @pre the handler of faults calls `escape`, and they are not blocked
/// @returns false if it did fault
template <class Function>
bool survives(Function risky) {
  if (sigsetjmp(way_out, 1) != 0) {
    is_risky = 0;
    return false;
  }
  is_risky = 1;
  risky();
  is_risky = 0;
  return true;
}

/// Ends the call of `survives` in which a fault came; returns if there is none.
inline void escape() {
  if (is_risky != 0)
    ::siglongjmp(way_out, 1);
}

} // namespace actorrun::recording
