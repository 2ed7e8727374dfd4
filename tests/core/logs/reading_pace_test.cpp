#include "actors/core/logs/reading_pace.hpp"
#include "tests/support/catch.hpp"

#include <chrono>

namespace actorrun::test::reading_pace_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

/// A thread that reads without end, in virtual time.
class reading {
public:
  /// Runs for `ran`, and for so long others keep it from running.
  /// @returns the pause after that
  duration run(duration ran, duration waited) {
    had_.ran += ran;
    had_.waited += waited;
    now_ += ran + waited;
    const auto pause = uut_.pause_after(now_, had_);
    now_ += pause;
    paused_ += pause;
    return pause;
  }

  /// The part of the time since its begin in which it ran.
  double share() const {
    return double(had_.ran.count()) / double((now_ - begin_).count());
  }

  time_point now() const { return now_; }
  duration paused() const { return paused_; }

private:
  static constexpr auto begin_ = time_point{100s};
  reading_pace uut_{};
  processor_time had_{};
  time_point now_ = begin_;
  duration paused_{};
};

} // namespace

TEST_CASE("reading_pace: idle processors are used without a pause", "[core]") {
  auto x = reading{};
  for (auto i = 0; i < 1'000; ++i)
    CHECK(x.run(1ms, 100us) == 0s);
}

TEST_CASE("reading_pace: on a busy machine little is taken", "[core]") {
  auto x = reading{};
  // The system lets it run for up to 3 ms after a pause, and then it waits.
  for (const auto end = x.now() + 60s; x.now() < end;)
    for (auto left = 3ms, part = 1ms; left > 0ms; left -= part)
      if (x.run(part, left > part ? 0ms : 9ms) > 0s)
        break;
  CHECK(x.share() < 0.015);
  CHECK(x.share() > 0.001);
}

TEST_CASE("reading_pace: it hurries on when the machine is idle again",
          "[core]") {
  auto x = reading{};
  CHECK(x.run(2ms, 4ms) == 400ms);
  CHECK(x.run(1ms, 0ms) == 200ms);
  while (x.run(250us, 0ms) > 0s) {
  }
  CHECK(x.paused() <= reading_pace::busy_time + 1s);
  CHECK(x.run(100ms, 0ms) == 0s);
}

TEST_CASE("reading_pace: what its lines cost others counts", "[core]") {
  auto uut = reading_pace{};
  const auto now = time_point{100s};
  CHECK(uut.pause_after(now, {1ms, 0ms, 3ms}) == 0s); // There is no need.
  CHECK(uut.pause_after(now, {2ms, 1ms, 5ms}) == 600ms);
  CHECK(uut.pause_after(now, {3ms, 2ms, 15ms}) == reading_pace::pause_max);
}

TEST_CASE("reading_pace: a pause is never long, and a slice never counts twice",
          "[core]") {
  auto x = reading{};
  CHECK(x.run(100us, 1s) == 0s);
  CHECK(x.run(200us, 0ms) == 60ms);
  CHECK(x.run(1s, 1s) == reading_pace::pause_max);
}

} // namespace actorrun::test::reading_pace_test
