// A worker that uses the worker library's timers:
// `timer_worker flood START MS` writes from a given time on as fast as it can;
// `timer_worker calls` times single calls;
// `timer_worker overrun MS` stamps the deadline of its own timer, and hangs;
// `timer_worker arm COUNT` starts timers, stamps, and sleeps;
// `timer_worker soak MS FILE` is never late, and records its progress.

#include "tests/bench/tools/timer_worker.hpp"

#include "runtime/worker/timers.hpp"
#include "tests/bench/append_record.hpp"
#include "tests/bench/tools/stamp.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>

namespace {

using namespace actorrun::bench;
using namespace std::chrono_literals;
namespace worker = actorrun::worker;
using steady = std::chrono::steady_clock;

/// The time of a timer that must not expire.
constexpr auto long_time = 1h;

int64_t nanoseconds_of(steady::time_point x) {
  return std::chrono::nanoseconds{x.time_since_epoch()}.count();
}

int64_t number(const char* text) {
  return text == nullptr ? 0 : std::strtoll(text, nullptr, 10);
}

void stamp(steady::time_point when) {
  append_record(
    stamp_file_variable,
    stamp_record{.time = nanoseconds_of(when),
                 .generation
                 = uint64_t(number(std::getenv("ACTORRUN_GENERATION"))),
                 .pid = ::getpid(),
                 .local_rank = int32_t(number(std::getenv("LOCAL_RANK"))),
                 .world_size = int32_t(number(std::getenv("WORLD_SIZE")))});
}

[[noreturn]] void hang() {
  for (;;)
    ::pause();
}

// -- flood --------------------------------------------------------------------

void flood(steady::time_point start, std::chrono::milliseconds length) {
  std::this_thread::sleep_until(start);
  auto x = flood_record{};
  const auto begin = steady::now();
  const auto end = begin + length;
  const auto count = [&x](worker::timer_status status) {
    ++x.message_count;
    x.error_count += status != worker::timer_status::ok;
  };
  auto now = begin;
  for (; now < end; now = steady::now()) {
    count(worker::acquire("train.py#42", long_time));
    count(worker::release("train.py#42"));
  }
  x.begin = nanoseconds_of(begin);
  x.end = nanoseconds_of(now);
  append_record(timer_results_variable, x);
}

// -- calls --------------------------------------------------------------------

/// Less than a FIFO holds: the call is measured, not the reader.
constexpr int series_length = 100;
constexpr int series_count = 500;
constexpr auto series_pause = 1ms;

/// Nanoseconds per call of a series.
template <class Fn>
double time_of_series(Fn fn) {
  const auto begin = steady::now();
  for (int i = 0; i < series_length; ++i)
    fn();
  const auto time = std::chrono::nanoseconds{steady::now() - begin};
  std::this_thread::sleep_for(series_pause);
  return double(time.count()) / series_length;
}

double median(std::vector<double> xs) {
  std::sort(xs.begin(), xs.end());
  return xs[xs.size() / 2];
}

// In turns: other load on the machine affects both equally.
void time_calls() {
  auto expires = std::vector<double>{};
  auto alive = std::vector<double>{};
  for (int i = 0; i < series_count; ++i) {
    expires.push_back(
      time_of_series([] { const auto x = worker::expires(long_time); }));
    alive.push_back(
      time_of_series([] { worker::alive("train_step", long_time); }));
  }
  worker::release("train_step");
  append_record(timer_results_variable,
                call_record{median(expires), median(alive)});
}

// -- overrun ------------------------------------------------------------------

[[noreturn]] void overrun(std::chrono::milliseconds after) {
  const auto due = steady::now() + after;
  stamp(due);
  worker::acquire("stuck", due - steady::now());
  hang();
}

// -- arm ----------------------------------------------------------------------

/// Lines between two checks that they have been read.
constexpr int64_t armed_at_once = 400;

size_t unread_size() {
  static const auto fd
    = ::open(std::getenv("TORCHELASTIC_TIMER_FILE"), O_WRONLY | O_NONBLOCK);
  auto size = 0;
  ::ioctl(fd, FIONREAD, &size);
  return size_t(std::max(size, 0));
}

[[noreturn]] void arm(int64_t timer_count) {
  for (int64_t i = 0; i < timer_count; ++i) {
    worker::acquire("shard " + std::to_string(i), long_time);
    while (i % armed_at_once == 0 && unread_size() > 0)
      std::this_thread::sleep_for(100us);
  }
  while (unread_size() > 0)
    std::this_thread::sleep_for(1ms);
  stamp(steady::now());
  hang();
}

// -- soak ---------------------------------------------------------------------

/// A worker needs a hundredth of its time; a kernel with busy processors may
/// delay it by up to a second.
constexpr auto soak_time = 3s;
constexpr auto soak_work = 200us;
constexpr auto soak_sleep_max_us = 10'000;

void work() {
  const auto end = steady::now() + soak_work;
  while (steady::now() < end) {
  }
}

int soak(std::chrono::milliseconds length, const char* path) {
  const auto file = ::open(path, O_RDWR | O_CLOEXEC);
  auto* map = ::mmap(nullptr, sizeof(soak_progress), PROT_READ | PROT_WRITE,
                     MAP_SHARED, file, 0);
  const auto rank = size_t(number(std::getenv("LOCAL_RANK")));
  if (map == MAP_FAILED || rank >= soak_worker_max)
    return EXIT_FAILURE;
  auto& place = static_cast<soak_progress*>(map)->places[rank];
  const auto end = steady::now() + length;
  for (auto seed = uint32_t(rank); steady::now() < end;) {
    seed = seed * 1'664'525 + 1'013'904'223; // Numerical Recipes' generator.
    // After the call: until then the previous deadline counts.
    const auto due = nanoseconds_of(steady::now() + soak_time);
    worker::alive("step", soak_time);
    place.due = due;
    {
      // Each has a name of its own: a shared one would hide a lost end.
      const auto guard = worker::expires(
        soak_time, "block " + std::to_string(place.round_count));
      work();
      if (seed >> 30 == 0) // Most blocks are short, some wait for something.
        std::this_thread::sleep_for(
          std::chrono::microseconds{(seed >> 10) % soak_sleep_max_us});
    }
    ++place.round_count;
  }
  worker::release("step");
  place.due = 0;
  return EXIT_SUCCESS;
}

} // namespace

int main(int argc, char** argv) {
  using std::chrono::milliseconds;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto mode = std::string_view{argc > 1 ? argv[1] : ""};
  const auto first = argc > 2 ? number(argv[2]) : 0;
  if (mode == "flood" && argc == 4)
    flood(steady::time_point{std::chrono::nanoseconds{first}},
          milliseconds{number(argv[3])});
  else if (mode == "calls")
    time_calls();
  else if (mode == "overrun" && argc == 3)
    overrun(milliseconds{first});
  else if (mode == "arm" && argc == 3)
    arm(first);
  else if (mode == "soak" && argc == 4)
    return soak(milliseconds{first}, argv[3]);
  else
    return EXIT_FAILURE;
}
