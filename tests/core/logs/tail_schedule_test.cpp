#include "actors/core/logs/tail_schedule.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::tail_schedule_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

constexpr size_t much = 1024 * 1024;

struct fixture {
  tail_schedule uut;

  /// 0: no stream's turn.
  uint64_t next(duration t) { return uut.next(time_point{t}).value_or(0); }

  void some(duration t, uint64_t id, size_t count, bool has_more = false) {
    uut.read_some(id, count, has_more, time_point{t});
  }

  /// In ms; -1: nothing is due.
  int64_t due() const {
    return uut.due() ? uut.due()->time_since_epoch() / 1ms : -1;
  }

  bool ready(duration t) const { return uut.is_ready(time_point{t}); }
};

} // namespace

TEST_CASE_METHOD(fixture, "tail_schedule: without streams there is no turn",
                 "[core]") {
  CHECK(next(0s) == 0);
  CHECK_FALSE(ready(1h));
  CHECK(due() == -1);
  uut.wake(1);
  uut.hurry(1);
  uut.remove(1);
  CHECK(next(0s) == 0);
}

TEST_CASE_METHOD(fixture, "tail_schedule: streams with more take turns",
                 "[core]") {
  for (const uint64_t id : {1, 2, 3})
    uut.add(id);
  auto order = std::string{};
  for (auto i = 0; i < 7; ++i) {
    const auto id = next(0s);
    order += std::to_string(id);
    some(0s, id, much, true);
  }
  CHECK(order == "1231231");
}

TEST_CASE_METHOD(fixture,
                 "tail_schedule: a stream without new text waits for it",
                 "[core]") {
  uut.add(1);
  CHECK(next(0s) == 1);
  CHECK(next(0s) == 0); // It is being read.
  uut.wake(1);
  CHECK(next(0s) == 0);
  uut.read_nothing(1);
  CHECK(next(1h) == 0);
  CHECK(due() == -1);
  uut.wake(1);
  uut.wake(1);
  CHECK(ready(1h));
  CHECK(next(1h) == 1);
  CHECK(next(1h) == 0);
}

TEST_CASE_METHOD(fixture, "tail_schedule: a stream with new text is polled",
                 "[core]") {
  uut.add(1);
  next(0ms);
  some(0ms, 1, much);
  CHECK(due() == 2);
  CHECK_FALSE(ready(1ms));
  CHECK(next(1ms) == 0);
  CHECK(ready(2ms));
  CHECK(next(2ms) == 1);
  CHECK(due() == -1);
}

TEST_CASE_METHOD(
  fixture, "tail_schedule: a stream with little text is polled less often",
  "[core]") {
  uut.add(1);
  const auto limits = poll_limits{};
  auto t = duration{0};
  auto intervals = std::string{};
  const auto poll = [&](size_t count) {
    REQUIRE(next(t) == 1);
    some(t, 1, count);
    const auto before = t;
    t = uut.due()->time_since_epoch();
    intervals += std::to_string((t - before) / 1ms) + " ";
  };
  for (auto i = 0; i < 5; ++i)
    poll(limits.little - 1);
  CHECK(intervals == "2 4 8 16 16 ");
  intervals.clear();
  for (auto i = 0; i < 4; ++i)
    poll(limits.little);
  CHECK(intervals == "8 4 2 2 ");
  intervals.clear();
  poll(1);
  next(t);
  uut.read_nothing(1);
  uut.wake(1);
  poll(1);
  CHECK(intervals == "4 2 "); // It starts again.
}

TEST_CASE_METHOD(fixture, "tail_schedule: polls fall on a grid", "[core]") {
  uut.add(1);
  uut.add(2);
  next(0ms);
  next(0ms);
  some(1'001us, 1, much);
  some(1'999us, 2, much);
  CHECK(due() == 4);
  CHECK(next(4ms) == 1);
  CHECK(next(4ms) == 2);
}

TEST_CASE_METHOD(fixture, "tail_schedule: a notice replaces a poll", "[core]") {
  uut.add(1);
  next(0ms);
  some(0ms, 1, much);
  uut.wake(1);
  CHECK(due() == -1);
  CHECK(next(1ms) == 1);
  some(1ms, 1, much);
  CHECK(next(2ms) == 0);
}

TEST_CASE_METHOD(fixture,
                 "tail_schedule: a stream that is not shown is polled at "
                 "the time it gives",
                 "[core]") {
  uut.add(1);
  next(0ms);
  uut.read_nothing(1, time_point{250ms});
  CHECK(due() == 250);
  CHECK(next(249ms) == 0);
  CHECK(next(250ms) == 1);
  uut.read_nothing(1, time_point{500ms});
  uut.wake(1);
  CHECK(next(300ms) == 1);
}

TEST_CASE_METHOD(fixture, "tail_schedule: an urgent stream goes first",
                 "[core]") {
  for (const uint64_t id : {1, 2, 3, 4})
    uut.add(id);
  uut.hurry(3);
  uut.hurry(4);
  uut.hurry(3);
  CHECK(next(0s) == 3);
  some(0s, 3, much, true);
  CHECK(next(0s) == 4);
  some(0s, 4, much, true);
  CHECK(next(0s) == 3);
  some(0s, 3, 1); // Nothing is left: it is no longer urgent.
  CHECK(next(0s) == 4);
  uut.read_nothing(4);
  CHECK(next(0s) == 1);
  CHECK(next(0s) == 2);
  CHECK(next(0s) == 0);
  CHECK(next(2ms) == 3);
}

TEST_CASE_METHOD(fixture, "tail_schedule: an urgent stream ends the wait",
                 "[core]") {
  uut.add(1);
  uut.add(2);
  next(0s);
  uut.read_nothing(1, time_point{1s});
  uut.hurry(1);
  CHECK(next(0s) == 1);
  CHECK(due() == -1);
  // While being read it keeps its place at the front.
  uut.hurry(1);
  some(0s, 1, much, true);
  CHECK(next(0s) == 1);
}

TEST_CASE_METHOD(fixture, "tail_schedule: a removed stream has no turn",
                 "[core]") {
  for (const uint64_t id : {1, 2, 3, 4})
    uut.add(id);
  uut.remove(1);
  CHECK(next(0ms) == 2);
  some(0ms, 2, much);
  uut.remove(2);
  CHECK(due() == -1);
  uut.hurry(3);
  uut.remove(3);
  CHECK(next(9ms) == 4);
  uut.remove(4);
  CHECK(next(9ms) == 0);
}

TEST_CASE_METHOD(fixture, "tail_schedule: a poll of a stream can be deferred",
                 "[core]") {
  uut.add(1, time_point{99ms});
  CHECK(due() == 100);
  CHECK(next(99ms) == 0);
  CHECK(next(100ms) == 1);
  uut.add(2, time_point{200ms});
  uut.wake(2);
  CHECK(next(100ms) == 2);
}

TEST_CASE("tail_schedule: limits can be changed", "[core]") {
  auto uut = tail_schedule{{.shortest = 100ms, .longest = 300ms, .little = 9}};
  uut.add(1);
  const auto poll = [&](duration now, size_t count, duration due) {
    REQUIRE(uut.next(time_point{now}) == 1u);
    uut.read_some(1, count, false, time_point{now});
    CHECK(uut.due() == time_point{due});
  };
  poll(1ms, 9, 200ms);
  poll(200ms, 8, 400ms);
  poll(400ms, 8, 700ms);
  poll(700ms, 9, 900ms); // The half is 150 ms.
}

} // namespace actorrun::test::tail_schedule_test
