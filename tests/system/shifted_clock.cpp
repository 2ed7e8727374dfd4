// Preloaded into a program, shifts its wall clock by SHIFTED_BY seconds: the clock
// of a host before its time is set. All other clocks are left alone.
#include <cstdlib>
#include <ctime>

#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

time_t shift() {
  static const auto* text = std::getenv("SHIFTED_BY");
  static const auto value = text == nullptr ? 0L : std::atol(text);
  return value;
}

// A warden, which is a copy of a program with threads, must not take the lock of a
// first call.
[[gnu::constructor]] void look_up_early() {
  shift();
}

} // namespace

extern "C" int clock_gettime(clockid_t clock, timespec* to) noexcept {
  const auto code = static_cast<int>(::syscall(SYS_clock_gettime, clock, to));
  if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    to->tv_sec += shift();
  return code;
}

extern "C" int gettimeofday(timeval* to, void*) noexcept {
  auto now = timespec{};
  const auto code = clock_gettime(CLOCK_REALTIME, &now);
  *to = {now.tv_sec, now.tv_nsec / 1'000};
  return code;
}

extern "C" time_t time(time_t* to) noexcept {
  auto now = timespec{};
  clock_gettime(CLOCK_REALTIME, &now);
  if (to != nullptr)
    *to = now.tv_sec;
  return now.tv_sec;
}
