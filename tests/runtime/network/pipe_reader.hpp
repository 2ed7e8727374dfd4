// Reads what comes through a link's pipe.
#pragma once

#include "runtime/network/link_pipe.hpp"
#include "tests/runtime/deadline.hpp"

#include <string>

namespace actorrun::detail::test {

/// Bytes from the other end: waits for some, or for its end.
inline std::string await_bytes(pipe_end& x) {
  auto out = std::string{};
  test_deadline::soon([&] {
    out += x.take();
    return !out.empty() || x.is_over();
  });
  return out;
}

inline bool is_closed(pipe_end& x) {
  return test_deadline::soon([&] {
    x.take();
    return x.is_over();
  });
}

} // namespace actorrun::detail::test
