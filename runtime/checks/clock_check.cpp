#include "actors/core/checks/clock_reading.hpp"
#include "messages/formatted.hpp"
#include "runtime/checks/built_in_checks.hpp"
#include "runtime/os/resource_limits.hpp"

#include <cerrno>
#include <chrono>

#include <sys/timex.h>

namespace actorrun::detail {

result<void> check_clock(const check_listener& say) {
  auto facts = timex{};
  const auto state = ::adjtimex(&facts); // Changes nothing.
  if (state < 0)
    return system_failure("the kernel does not say how its clock is: "
                          + system_error_text(errno));
  const auto now = std::chrono::floor<std::chrono::seconds>(
    std::chrono::system_clock::now());
  const auto x = core::clock_reading{
    .is_synchronised = state != TIME_ERROR && (facts.status & STA_UNSYNC) == 0,
    .error = std::chrono::microseconds{facts.esterror},
    .error_max = std::chrono::microseconds{facts.maxerror},
    .unix_seconds = now.time_since_epoch().count()};
  if (auto fault = core::fault_of(x); !fault.empty())
    return system_failure(std::move(fault));
  say("the clock is " + core::to_string(x));
  return {};
}

} // namespace actorrun::detail
