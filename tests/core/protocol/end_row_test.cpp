#include "actors/core/protocol/end_row.hpp"
#include "actors/core/protocol/step_row.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::end_row_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

worker_failure failure_of(uint32_t rank = 3) {
  auto x = worker_failure{};
  x.host = "n2";
  x.global_rank = rank;
  x.code = 7;
  return x;
}

const auto waiting = restart_rules{.backoff_min = 1s, .backoff_max = 3s};

struct fixture {
  end_row uut{waiting};
  time_point now{};

  /// When the next start is, after another failure.
  std::chrono::milliseconds next(const worker_failure& x,
                                 duration ran = 1'200ms) {
    now += 100s;
    uut.add(x, ran, now);
    return std::chrono::duration_cast<std::chrono::milliseconds>(
      uut.next_start() - now);
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "end_row: each end alike waits twice as long",
                 "[core]") {
  CHECK(uut.count() == 0);
  CHECK(uut.text().empty());
  CHECK(next(failure_of()) == 0ms);
  CHECK(uut.count() == 1);
  CHECK(uut.text().empty());
  CHECK(next(failure_of()) == 1s);
  CHECK(uut.text()
        == "2 ends alike: rank 3 on n2 exited with code 7 after 1.2 s");
  CHECK(next(failure_of()) == 2s);
  CHECK(next(failure_of()) == 3s);
  CHECK(next(failure_of()) == 3s);
  CHECK(uut.count() == 5);
}

TEST_CASE_METHOD(fixture, "end_row: another end begins anew", "[core]") {
  const auto differs = [this](auto change) {
    next(failure_of());
    next(failure_of());
    REQUIRE(uut.count() >= 2);
    auto x = failure_of();
    change(x);
    CHECK(next(x) == 0ms);
    CHECK(uut.count() == 1);
  };
  differs([](auto& x) { x.global_rank = 4; });
  differs([](auto& x) { x.host = "n3"; });
  differs([](auto& x) { x.code = 8; });
  differs([](auto& x) { x.kind = failure_kind::signalled; });
  differs([](auto& x) { x.details.message = "ValueError: no data"; });
  differs([](auto& x) { x.details.traceback = "a\nValueError: no data\n"; });
}

TEST_CASE_METHOD(fixture,
                 "end_row: of a message the first line counts, of what was "
                 "written the last",
                 "[core]") {
  auto x = failure_of();
  x.details.message = "ValueError: no data\nat 12:00";
  auto y = failure_of();
  y.details.message = "ValueError: no data\nat 12:01";
  next(x);
  next(y);
  CHECK(uut.count() == 2);
  x = y = failure_of();
  x.details.traceback = "step 17\nKeyError: 4\n";
  y.details.traceback = "step 18\nKeyError: 4\n";
  next(x);
  next(y);
  CHECK(uut.count() == 2);
}

TEST_CASE_METHOD(fixture, "end_row: who ran for long goes round in no loop",
                 "[core]") {
  next(failure_of());
  CHECK(next(failure_of(), loop_run_max - 1ms) == 1s);
  CHECK(next(failure_of(), loop_run_max) == 0ms);
  CHECK(uut.count() == 1);
}

TEST_CASE_METHOD(fixture, "end_row: an operator need not wait", "[core]") {
  next(failure_of());
  next(failure_of());
  uut.start_now();
  CHECK(uut.next_start() == time_point{});
  CHECK(next(failure_of()) == 2s);
}

TEST_CASE("end_row: without the option nothing waits, and ends are counted",
          "[core]") {
  auto uut = end_row{restart_rules{}};
  for (auto i = 1; i < 5; ++i)
    uut.add(failure_of(), 1s, time_point{i * 1s});
  CHECK(uut.count() == 4);
  CHECK(uut.next_start() == time_point{4s});
}

TEST_CASE("step_row: a restart that gets not past the highest step brings "
          "nothing",
          "[core]") {
  auto uut = step_row{};
  CHECK_FALSE(uut.is_known());
  uut.ended();
  uut.ended();
  CHECK(uut.idle_count() == 0); // No worker says how far it is.
  uut.reached(5);
  uut.reached(4);
  CHECK(uut.highest() == 5);
  uut.ended();
  CHECK(uut.idle_count() == 0);
  uut.reached(5); // From an older state once more.
  uut.ended();
  CHECK(uut.idle_count() == 1);
  uut.ended(); // It has not come to a safe point.
  CHECK(uut.idle_count() == 2);
  uut.reached(6);
  uut.ended();
  CHECK(uut.idle_count() == 0);
}

TEST_CASE("step_row: the first generation is no restart", "[core]") {
  auto uut = step_row{};
  uut.reached(0);
  uut.ended();
  CHECK(uut.idle_count() == 0);
  uut.ended();
  CHECK(uut.idle_count() == 1);
}

} // namespace actorrun::test::end_row_test
