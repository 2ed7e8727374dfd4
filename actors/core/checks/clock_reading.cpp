#include "actors/core/checks/clock_reading.hpp"

#include "actors/core/text.hpp"

namespace actorrun::core {

namespace {

std::string error_text_of(const clock_reading& x) {
  return "off by " + duration_text(x.error) + " as is estimated, by "
         + duration_text(x.error_max) + " at the most";
}

} // namespace

// The kernel's estimate says nothing without a service that makes it.
std::string fault_of(const clock_reading& x) {
  if (x.unix_seconds < clock_unix_min)
    return "the clock shows a time before 2025: "
           + std::to_string(x.unix_seconds) + " s after 1970 began";
  if (!x.is_synchronised)
    return "no service keeps the clock in step: the kernel does not take it for"
           " synchronised; see that chronyd, ntpd or systemd-timesyncd runs";
  if (x.error > clock_error_max)
    return "the clock is " + error_text_of(x) + "; the estimate may be "
           + duration_text(clock_error_max);
  return {};
}

std::string to_string(const clock_reading& x) {
  return (x.is_synchronised ? "in step, " : "not synchronised, ")
         + error_text_of(x);
}

} // namespace actorrun::core
