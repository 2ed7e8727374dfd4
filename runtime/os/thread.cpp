#include "runtime/os/thread.hpp"

#include <system_error>
#include <thread>
#include <utility>

namespace actorrun::detail {

bool run_aside(std::function<void()> fn) {
  const auto block = signals_blocked{};
  try {
    std::thread{std::move(fn)}.detach();
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

} // namespace actorrun::detail
