#include "actors/core/timers/request.hpp"
#include "tests/core/timers/table_fixture.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::table_test {

using namespace actorrun::core;
using namespace actorrun::core::test_timers;
using namespace std::chrono_literals;

using fixture = timer_table_fixture;

TEST_CASE_METHOD(fixture, "timer_table: an overrun is confirmed, then reported",
                 "[core]") {
  CHECK(start(1, 0) == "");
  CHECK(at(1s).acquire(100, "step", 31s) == "arm_timer 1");
  CHECK(at(31s).fire(1) == "drain_source 1; arm_timer 2");
  CHECK(at(31s + 2us).drained(1)
        == "report_overrun 1/0 pid 100 \"step\" 2000 ns late, signal 9");
  CHECK(uut.size() == 0);
}

namespace {

/// The limit of the first overrun among the effects of an event.
std::optional<duration> limit_in(const std::vector<timer_effect>& effects) {
  for (const auto& x : effects)
    if (const auto* found = std::get_if<report_overrun>(&x))
      return found->what.limit;
  FAIL("there is no overrun");
  return {};
}

/// Of a timer whose line is read `age` before 1,000 s, when its worker is known.
std::optional<duration> limit_of_line(duration due, duration age = 0s) {
  fixture x;
  x.start(1, 0);
  x.at(1'000s).step(timer_requested{.pid = 100,
                                    .scope = "step",
                                    .expiration = due + wall_offset,
                                    .signal = 9,
                                    .wall_offset = wall_offset,
                                    .age = age});
  x.at(std::max<duration>(due, 1'000s) + 1ms).fire(1);
  return limit_in(x.uut.step(source_drained{1}, time_point{x.now}));
}

} // namespace

TEST_CASE("timer_table: P9 a line's limit is what was left of it when it was"
          " read, rounded up",
          "[core]") {
  CHECK(limit_of_line(1'000s + 500ms) == 500ms);
  CHECK(limit_of_line(1'000s + 500ms - 1ns) == 500ms);
  CHECK(limit_of_line(1'000s + 499ms + 1ns) == 500ms);
  CHECK(limit_of_line(1'000s + 1ns) == 1ms);
  CHECK(limit_of_line(1'001s) == 1s);
  CHECK(limit_of_line(1'001s + 243ms) == 1250ms);
  CHECK(limit_of_line(1'030s - 3ms) == 30s);
  CHECK(limit_of_line(1'300s - 3ms) == 5min);
  CHECK(limit_of_line(1'000s + 24h * 365 - 3ms) == 24h * 365);
}

TEST_CASE("timer_table: P9 a line that had to wait for its worker has its"
          " whole limit",
          "[core]") {
  CHECK(limit_of_line(1'000s + 500ms, 400ms) == 900ms);
  CHECK(limit_of_line(1'000s, 500ms) == 500ms);
  CHECK(limit_of_line(999s + 900ms, 500ms) == 400ms);
}

TEST_CASE("timer_table: P9 a timer that was over at once has no limit",
          "[core]") {
  CHECK(limit_of_line(1'000s) == std::nullopt);
  CHECK(limit_of_line(1'000s - 1ns) == std::nullopt);
  CHECK(limit_of_line(0s) == std::nullopt);
  fixture x;
  x.start(1, 0);
  x.step(progress_reported{100, "watchdog", -1s, 9});
  CHECK(limit_in(x.uut.step(source_drained{1}, time_point{x.now}))
        == std::nullopt);
}

TEST_CASE_METHOD(fixture,
                 "timer_table: P9 a limit that is asked for is kept as it is",
                 "[core]") {
  start(1, 0);
  at(5s).step(progress_reported{100, "step", 30s + 1us, 9});
  at(40s).fire(1);
  CHECK(limit_in(uut.step(source_drained{1}, time_point{now})) == 30s + 1us);
  start(2, 0);
  at(50s).step(timer_acquired{worker(2, 0), "step", time_point{51s + 7us}, 9});
  at(60s).fire(3);
  CHECK(limit_in(uut.step(source_drained{9}, time_point{now})) == 1s + 7us);
}

TEST_CASE_METHOD(fixture, "timer_table: a worker that releases is left alone",
                 "[core]") {
  start(1, 0);
  acquire(100, "step", 30s);
  CHECK(at(10s).release(100, "step") == "");
  CHECK(uut.size() == 0);
  CHECK(at(30s).fire(1) == "");
  CHECK(uut.counts().acquired == 1);
  CHECK(uut.counts().released == 1);
}

TEST_CASE_METHOD(fixture,
                 "timer_table: a release that had to wait counts as on time",
                 "[core]") {
  start(1, 0);
  acquire(100, "step", 30s);
  acquire(100, "load", 30s);
  CHECK(at(30s).fire(1) == "drain_source 1; arm_timer 2");
  // Both were written before the deadline.
  CHECK(at(30s + 5ms).release(100, "step") == "");
  CHECK(acquire(100, "load", 60s) == "");
  CHECK(drained(1) == "");
  CHECK(at(31s).fire(2) == "arm_timer 3");
  CHECK(at(60s).fire(3) == "drain_source 2; arm_timer 4");
}

TEST_CASE_METHOD(fixture,
                 "timer_table: a source that does not answer is not waited for",
                 "[core]") {
  start(1, 0);
  acquire(100, "step", 30s);
  at(30s).fire(1);
  CHECK(at(30s + source_timeout - 1ns).fire(7) == "");
  CHECK(at(30s + source_timeout).fire(2)
        == "report_overrun 1/0 pid 100 \"step\" 100000000 ns late, signal 9");
  CHECK(at(31s).drained(1) == "");
}

TEST_CASE_METHOD(fixture,
                 "timer_table: an answer to an earlier order confirms nothing",
                 "[core]") {
  start(1, 0);
  start(1, 1);
  acquire(100, "step", 30s);
  CHECK(end(1, 1) == "drain_source 1");
  CHECK(at(30s).fire(1) == "drain_source 2; arm_timer 2");
  CHECK(drained(1) == "");
  CHECK(drained(2)
        == "report_overrun 1/0 pid 100 \"step\" 0 ns late, signal 9");
}

TEST_CASE_METHOD(fixture,
                 "timer_table: a timer due during a confirmation has its own",
                 "[core]") {
  start(1, 0);
  start(1, 1);
  acquire(100, "a", 30s);
  acquire(101, "b", 30s + 1ms);
  CHECK(at(30s).fire(1) == "drain_source 1; arm_timer 2");
  CHECK(at(30s + 2ms).drained(1)
        == "report_overrun 1/0 pid 100 \"a\" 2000000 ns late, signal 9; "
           "drain_source 2");
  CHECK(drained(2)
        == "report_overrun 1/1 pid 101 \"b\" 1000000 ns late, signal 9");
}

TEST_CASE_METHOD(fixture, "timer_table: a worker is reported once", "[core]") {
  start(1, 0);
  acquire(100, "b", 20s);
  acquire(100, "a", 10s, 15);
  acquire(100, "c", 1h);
  at(20s).fire(1);
  CHECK(drained(1)
        == "report_overrun 1/0 pid 100 \"a\" 10000000000 ns late, signal 15");
  CHECK(uut.size() == 0);
  // Its later requests are ignored.
  CHECK(acquire(100, "d", 20s) == "");
  CHECK(step(progress_reported{100, "d", 0s, 9}) == "");
  CHECK(step(timer_acquired{worker(1, 0), "d", time_point{}, 9}) == "");
  CHECK(step(timer_released{worker(1, 0), "d"}) == "");
  CHECK(uut.counts().late == 4);
  CHECK(uut.size() == 0);
}

TEST_CASE_METHOD(fixture, "timer_table: each overrun worker is reported",
                 "[core]") {
  start(1, 0);
  start(1, 1);
  acquire(101, "x", 10s);
  acquire(100, "y", 11s);
  at(11s).fire(1);
  CHECK(drained(1)
        == "report_overrun 1/1 pid 101 \"x\" 1000000000 ns late, signal 9; "
           "report_overrun 1/0 pid 100 \"y\" 0 ns late, signal 9");
}

TEST_CASE_METHOD(fixture,
                 "timer_table: without a signal an overrun is recorded",
                 "[core]") {
  start(1, 0);
  acquire(100, "a", 10s, 0);
  acquire(100, "b", 11s, -5);
  acquire(100, "c", 12s, 9);
  acquire(100, "d", 13s, 0);
  acquire(100, "e", 30s, 9);
  at(11s).fire(1);
  CHECK(drained(1)
        == "record_overrun 1/0 pid 100 \"a\" 1000000000 ns late, signal 0; "
           "record_overrun 1/0 pid 100 \"b\" 0 ns late, signal -5");
  CHECK(uut.size() == 3); // The worker's other timers continue.
  at(13s).fire(2);
  CHECK(drained(2)
        == "report_overrun 1/0 pid 100 \"c\" 1000000000 ns late, signal 9");
}

TEST_CASE_METHOD(fixture,
                 "timer_table: records are bounded per worker and time",
                 "[core]") {
  start(1, 0);
  start(1, 1);
  const auto expire = [this](int64_t pid, uint32_t count) {
    for (uint32_t i = 0; i < count; ++i)
      acquire(pid, std::to_string(i), now - 1s, 0);
    drained(1'000);
    drained(1'000);
    return uut.counts().recorded;
  };
  at(10s);
  CHECK(expire(100, records_max) == records_max);
  CHECK(uut.counts().unrecorded == 0);
  CHECK(expire(100, 1) == records_max);
  CHECK(uut.counts().unrecorded == 1);
  CHECK(expire(101, 1) == records_max + 1);
  at(10s + record_period);
  CHECK(expire(100, 1) == records_max + 2);
}

TEST_CASE_METHOD(fixture,
                 "timer_table: requests of other processes are counted",
                 "[core]") {
  start(1, 0);
  CHECK(acquire(4711, "a", -1s) == "");
  CHECK(release(4711, "a") == "");
  CHECK(acquire(0, "a", -1s) == "");
  CHECK(acquire(-1, "a", -1s) == "");
  CHECK(step(progress_reported{1, "a", 0s, 9}) == "");
  CHECK(step(timer_acquired{worker(1, 1), "a", time_point{}, 9}) == "");
  CHECK(step(timer_acquired{worker(2, 0), "a", time_point{}, 9}) == "");
  CHECK(step(timer_released{worker(2, 0), "a"}) == "");
  CHECK(uut.counts() == timer_counts{.unknown = 8});
  CHECK(uut.size() == 0);
}

TEST_CASE_METHOD(fixture, "timer_table: a dead worker's timers vanish",
                 "[core]") {
  start(1, 0);
  start(1, 1);
  acquire(100, "a", 10s);
  acquire(100, "b", 20s);
  acquire(101, "c", 15s);
  CHECK(end(1, 0) == "drain_source 1");
  CHECK(uut.size() == 1);
  CHECK(uut.size_of(worker(1, 0)) == 0);
  CHECK(uut.size_of(worker(1, 1)) == 1);
  CHECK(at(12s).fire(1) == "arm_timer 2");
  CHECK(acquire(100, "a", 1s) == "");
  CHECK(uut.counts().unknown == 1);
  CHECK(end(1, 0) == "");
  CHECK(end(3, 7) == "");
}

TEST_CASE_METHOD(
  fixture,
  "timer_table: a worker that dies while it is suspected is not reported",
  "[core]") {
  start(1, 0);
  acquire(100, "a", 10s);
  at(10s).fire(1);
  CHECK(end(1, 0) == "drain_source 2");
  CHECK(drained(2) == "");
}

TEST_CASE_METHOD(
  fixture, "timer_table: the next generation has no timers of the previous one",
  "[core]") {
  start(1, 0, 500);
  acquire(500, "a", 10s);
  end(1, 0);
  drained(1);
  start(2, 0, 500); // The same pid and local rank.
  CHECK(uut.size_of(worker(2, 0)) == 0);
  CHECK(at(1h).fire(1) == "");
  CHECK(end(1, 0) == ""); // A repeated end is not that of the living one.
  CHECK(acquire(500, "a", 2h) == "arm_timer 2");
  CHECK(uut.size_of(worker(2, 0)) == 1);
}

TEST_CASE_METHOD(fixture,
                 "timer_table: requests of a dead worker are not those of the "
                 "next with its pid",
                 "[core]") {
  start(1, 0, 500);
  CHECK(end(1, 0) == "drain_source 1");
  start(2, 0, 500);
  // Written by the dead worker, read now.
  CHECK(acquire(500, "a", -1s) == "");
  CHECK(release(500, "a") == "");
  CHECK(step(progress_reported{500, "a", 0s, 9}) == "");
  CHECK(uut.counts().late == 3);
  CHECK(drained(0) == "");
  CHECK(acquire(500, "a", -1s) == "");
  CHECK(drained(1) == "");
  CHECK(acquire(500, "a", 10s) == "arm_timer 1");
  CHECK(uut.counts().late == 4);
}

TEST_CASE_METHOD(
  fixture,
  "timer_table: a start proves that the previous worker with its pid ended",
  "[core]") {
  start(1, 0, 500);
  acquire(500, "a", 10s);
  CHECK(start(2, 3, 500) == "drain_source 1");
  CHECK(uut.size() == 0);
  CHECK(acquire(500, "a", 10s) == "");
  drained(1);
  acquire(500, "a", 10s);
  CHECK(uut.size_of(worker(2, 3)) == 1);
  // So does a worker with its generation and rank, whatever its pid.
  CHECK(start(2, 3, 501) == "drain_source 2");
  CHECK(uut.size() == 0);
  CHECK(acquire(500, "a", 10s) == "");
  CHECK(acquire(501, "a", 10s) == "");
  CHECK(uut.size() == 1);
}

TEST_CASE_METHOD(fixture, "timer_table: a worker without a pid has timers, too",
                 "[core]") {
  CHECK(start(1, 0, 0) == "");
  CHECK(start(1, 1, 0) == "");
  CHECK(step(timer_acquired{worker(1, 0), "a", time_point{10s}, 9})
        == "arm_timer 1");
  step(timer_acquired{worker(1, 1), "a", time_point{5s}, 9});
  CHECK(step(timer_released{worker(1, 1), "a"}) == "");
  at(10s).fire(1);
  CHECK(drained(1) == "report_overrun 1/0 pid 0 \"a\" 0 ns late, signal 9");
  CHECK(end(1, 1) == "");
}

TEST_CASE_METHOD(fixture, "timer_table: progress moves a deadline on",
                 "[core]") {
  start(1, 0);
  CHECK(step(progress_reported{100, "watchdog", 30s, 6}) == "arm_timer 1");
  CHECK(at(20s).step(progress_reported{100, "watchdog", 30s, 6}) == "");
  CHECK(at(30s).fire(1) == "arm_timer 2");
  CHECK(at(40s).step(progress_reported{100, "watchdog", 30s, 6}) == "");
  CHECK(at(50s).fire(2) == "arm_timer 3");
  CHECK(at(70s).fire(3) == "drain_source 1; arm_timer 4");
  CHECK(drained(1)
        == "report_overrun 1/0 pid 100 \"watchdog\" 0 ns late, signal 6");
}

TEST_CASE_METHOD(fixture, "timer_table: a worker may report itself stuck",
                 "[core]") {
  start(1, 0);
  CHECK(step(progress_reported{100, "watchdog", -5s, 6})
        == "drain_source 1; arm_timer 1");
  CHECK(drained(1)
        == "report_overrun 1/0 pid 100 \"watchdog\" 0 ns late, signal 6");
}

TEST_CASE_METHOD(fixture, "timer_table: a step of the wall clock ends no timer",
                 "[core]") {
  start(1, 0);
  acquire(100, "a", 30s);
  const auto line = timer_requested{.pid = 100,
                                    .scope = "b",
                                    .is_release = false,
                                    .expiration = 30s + wall_offset,
                                    .signal = 9,
                                    .wall_offset = wall_offset + 1h};
  CHECK(at(1s).step(line) == "");
  CHECK(uut.size() == 2);
  CHECK(at(30s - 1ns).fire(9) == "");
  CHECK(at(30s).fire(1) == "drain_source 1; arm_timer 2");
}

TEST_CASE_METHOD(fixture, "timer_table: a signal beyond the last is refused",
                 "[core]") {
  start(1, 0);
  acquire(100, "a", 10s, timer_signal_max + 1);
  CHECK(uut.size() == 0);
  CHECK(uut.counts().refused == 1);
  acquire(100, "a", 10s, timer_signal_max);
  CHECK(uut.size() == 1);
}

TEST_CASE_METHOD(fixture, "timer_table: requests beyond a limit are refused",
                 "[core]") {
  const auto longest = std::string(scope_text_max, 'x');
  start(1, 0);
  acquire(100, longest, 10s);
  CHECK(uut.counts().refused == 0);
  acquire(100, longest + "x", 10s);
  CHECK(uut.counts() == timer_counts{.acquired = 1, .refused = 1});
}

TEST_CASE_METHOD(fixture, "timer_table: the number of workers is bounded",
                 "[core]") {
  for (uint32_t i = 0; i < timed_worker_count_max; ++i)
    start(1, i, 1'000 + i);
  CHECK(uut.counts().refused == 0);
  start(2, 0, 500);
  CHECK(uut.counts().refused == 1);
  acquire(500, "a", 1s);
  CHECK(uut.counts().unknown == 1);
  end(1, 7);
  start(2, 0, 500);
  acquire(500, "a", 1s);
  CHECK(uut.size_of(worker(2, 0)) == 1);
  for (uint32_t i = 0; i < timed_worker_count_max; ++i)
    end(1, i);
  CHECK(uut.size() == 1);
}

TEST_CASE("timer_table: one worker cannot use up the room of all", "[core]") {
  auto uut = timer_table{{.timer_count_max = 100, .timers_per_worker_max = 60}};
  const auto a = timed_worker{{1}, 0};
  const auto b = timed_worker{{1}, 1};
  uut.step(timed_worker_started{a, 1}, {});
  uut.step(timed_worker_started{b, 2}, {});
  for (int i = 0; i < 80; ++i) {
    const auto scope = std::to_string(i);
    uut.step(timer_acquired{a, scope, time_point{1h}, 9}, {});
    uut.step(timer_acquired{b, scope, time_point{1h}, 9}, {});
  }
  CHECK(uut.size_of(a) == 50);
  uut.step(timed_worker_ended{b}, {});
  for (int i = 0; i < 80; ++i)
    uut.step(timer_acquired{a, std::to_string(i), time_point{1h}, 9}, {});
  CHECK(uut.size_of(a) == 60);
  CHECK(uut.size() == 60);
}

namespace {

/// `pid scope @seconds` of each.
std::string text_of(const std::vector<last_request>& all) {
  auto out = std::string{};
  for (const auto& x : all)
    out += (out.empty() ? "" : "; ") + std::to_string(x.pid) + " " + x.scope
           + " @"
           + std::to_string(std::chrono::duration_cast<std::chrono::seconds>(
                              x.when.time_since_epoch())
                              .count());
  return out;
}

} // namespace

TEST_CASE_METHOD(fixture,
                 "timer_table: the last request of each worker is known",
                 "[core]") {
  start(1, 0);
  start(1, 1);
  start(1, 2);
  step(timed_worker_started{{{}, 1}, 0}); // An actor of this program.
  CHECK(uut.last_requests().empty());
  at(1s).acquire(100, "load", 60s);
  at(2s).acquire(102, "step", 60s);
  step(timer_acquired{{{}, 1}, "own", time_point{60s}, 9});
  CHECK(text_of(uut.last_requests()) == "100 load @1; 102 step @2");
  at(3s).release(100, "load");
  at(4s).step(progress_reported{102, "watchdog", 30s, 9});
  CHECK(text_of(uut.last_requests()) == "100 load @3; 102 watchdog @4");
  end(1, 0);
  start(2, 0);
  CHECK(text_of(uut.last_requests()) == "102 watchdog @4");
}

TEST_CASE_METHOD(fixture,
                 "timer_table: what its processes ask for is a worker's, too",
                 "[core]") {
  start(1, 0);
  start(1, 1);
  auto child = worker(1, 0);
  child.process = 500;
  step(timed_worker_started{child, 500});
  at(1s).acquire(500, "child", 60s);
  CHECK(text_of(uut.last_requests()) == "100 child @1");
  at(2s).acquire(100, "step", 60s);
  CHECK(text_of(uut.last_requests()) == "100 step @2");
  at(3s).release(500, "child");
  CHECK(text_of(uut.last_requests()) == "100 child @3");
  // Of a long scope only the beginning is kept.
  at(4s).acquire(101, std::string(100, 'x'), 5s);
  const auto before = text_of(uut.last_requests());
  CHECK(before
        == "100 child @3; 101 " + std::string(last_scope_size_max, 'x')
             + " @4");
}

} // namespace actorrun::test::table_test
