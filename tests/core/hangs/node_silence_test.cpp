#include "actors/core/hangs/node_silence.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

namespace actorrun::test::node_silence_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

constexpr auto limits = hang_limits{10s, true};

struct fixture {
  fixture() { uut.begin({7}, time_point{100s}); }

  /// Looks each second until then. How long the node says that it is silent, in ms;
  /// -1: nothing is new.
  int64_t until(duration t, const std::vector<worker_signs>& workers) {
    while (now + 1s < t) {
      now += 1s;
      if (const auto news = uut.step(workers, time_point{100s + now}))
        early = *news;
    }
    return at(t, workers);
  }

  int64_t at(duration t, const std::vector<worker_signs>& workers) {
    now = t;
    const auto news = uut.step(workers, time_point{100s + t});
    if (!news)
      return -1;
    last = *news;
    return std::chrono::duration_cast<std::chrono::milliseconds>(
             news->silent_for)
      .count();
  }

  static worker_signs wrote(uint64_t size, uint32_t rank = 0) {
    return {rank, size, {}};
  }
  static worker_signs asked(duration t, uint32_t rank = 1) {
    return {rank, {}, time_point{100s + t}};
  }
  static worker_signs unknown(uint32_t rank) { return {rank, {}, {}}; }

  node_silence uut{limits};
  duration now{0};
  silence_report last;
  std::optional<silence_report> early; ///< Told before it was asked for.
};

} // namespace

TEST_CASE_METHOD(fixture, "node silence: it is told, and so is its end",
                 "[core]") {
  CHECK(at(1s, {wrote(0), wrote(5, 1)}) == -1);
  CHECK(until(10'999ms, {wrote(0), wrote(5, 1)}) == -1);
  CHECK_FALSE(uut.is_silent());
  CHECK(at(11s, {wrote(0), wrote(5, 1)}) == 10'000);
  CHECK(last == silence_report{{7}, 10s, true, limits});
  CHECK(uut.is_silent());
  CHECK(until(20'999ms, {wrote(0), wrote(5, 1)}) == -1);
  CHECK_FALSE(early);
  CHECK(at(21s, {wrote(0), wrote(5, 1)}) == 20'000); // Again.
  CHECK(at(22s, {wrote(1), wrote(5, 1)}) == 0);
  CHECK(last == silence_report{{7}, 0s, true, limits});
  CHECK(until(31'999ms, {wrote(1), wrote(5, 1)}) == -1);
  CHECK(at(32s, {wrote(1), wrote(5, 1)}) == 10'000);
}

TEST_CASE_METHOD(fixture, "node silence: any worker's sign counts for the node",
                 "[core]") {
  CHECK(at(1s, {wrote(0), asked(0s)}) == -1);
  CHECK(until(9s, {wrote(0), asked(8s)}) == -1);
  CHECK(until(17'999ms, {wrote(0), asked(8s)}) == -1);
  CHECK(at(18s, {wrote(0), asked(8s)}) == 10'000);
}

TEST_CASE_METHOD(fixture, "node silence: a file that is gone may grow",
                 "[core]") {
  CHECK(at(1s, {wrote(5)}) == -1);
  CHECK(until(60s, {unknown(0)}) == -1);
  CHECK_FALSE(early);
  CHECK(until(69'999ms, {wrote(5)}) == -1);
  CHECK(at(70s, {wrote(5)}) == 10'000);
}

TEST_CASE_METHOD(fixture,
                 "node silence: of a worker without signs it is not known",
                 "[core]") {
  CHECK(until(10s, {wrote(0), unknown(1)}) == -1);
  CHECK(at(11s, {wrote(0), unknown(1)}) == 10'000);
  CHECK_FALSE(last.can_tell);
  SECTION("it uses a timer") {
    CHECK(at(12s, {wrote(0), asked(12s)}) == 0);
    CHECK(last.can_tell);
  }
  SECTION("it ends") {
    CHECK(until(21s, {wrote(0)}) == 20'000);
    CHECK(last.can_tell);
  }
  SECTION("all have ended") {
    CHECK(until(21s, {}) == 20'000);
    CHECK_FALSE(last.can_tell);
  }
}

TEST_CASE_METHOD(fixture, "node silence: each generation begins anew",
                 "[core]") {
  CHECK(at(1s, {wrote(5)}) == -1);
  CHECK(until(11s, {wrote(5)}) == 10'000);
  uut.begin({8}, time_point{112s});
  CHECK_FALSE(uut.is_silent());
  CHECK(until(21'999ms, {asked(1s)}) == -1);
  CHECK(at(22s, {asked(1s)}) == 10'000);
  CHECK(last.generation == generation_id{8});
}

TEST_CASE_METHOD(fixture,
                 "node silence: workers that are to end are not watched",
                 "[core]") {
  CHECK(uut.is_watching());
  uut.end();
  CHECK_FALSE(uut.is_watching());
  CHECK(until(60s, {wrote(5)}) == -1);
}

TEST_CASE_METHOD(fixture,
                 "node silence: a coordinator that comes is told how it is",
                 "[core]") {
  CHECK(at(1s, {wrote(5)}) == -1);
  uut.forget_report();
  CHECK(at(2s, {wrote(5)}) == 0);
  CHECK(until(11s, {wrote(5)}) == 10'000);
  uut.forget_report();
  CHECK(at(12s, {wrote(5)}) == 11'000);
}

TEST_CASE_METHOD(fixture,
                 "node silence: an agent that stood still knows nothing",
                 "[core]") {
  CHECK(at(1s, {wrote(5)}) == -1);
  CHECK(at(30s, {wrote(5)}) == -1);
  CHECK(until(39'999ms, {wrote(5)}) == -1);
  CHECK(at(40s, {wrote(5)}) == 10'000);
}

TEST_CASE("node silence: it looks eight times per limit, within bounds",
          "[core]") {
  CHECK(node_silence{{8s, true}}.interval() == 1s);
  CHECK(node_silence{{100ms, true}}.interval() == 50ms);
  CHECK(node_silence{{1h, true}}.interval() == 5s);
}

TEST_CASE_METHOD(fixture, "node silence: steps are signs of life", "[core]") {
  auto steps = [](uint64_t count) {
    return std::vector<worker_signs>{{0, 5, {}, count}, {1, {}, {}, 2}};
  };
  CHECK(at(1s, steps(1)) == -1);
  CHECK(until(10s, steps(2)) == -1);
  CHECK(until(18s, steps(3)) == -1); // Seen at 11 s, the first look with it.
  CHECK(until(20'999ms, steps(3)) == -1);
  CHECK(at(21s, steps(3)) == 10'000);
  CHECK(last.can_tell);
  CHECK(at(22s, steps(4)) == 0);
}

namespace {

struct learning_fixture {
  learning_fixture() { uut.begin({7}, time_point{100s}); }

  /// Looks each second: at times in seconds, with so many steps.
  /// @returns when it was told that there is silence, and since when; 0: never
  std::pair<int64_t, int64_t>
  silence(int64_t from, int64_t to,
          const std::function<std::optional<uint64_t>(int64_t)>& steps) {
    for (auto t = from; t < to; ++t)
      if (const auto x = uut.step({{0, 0, {}, steps(t)}},
                                  time_point{100s + std::chrono::seconds{t}});
          x && x->silent_for > duration{0}) {
        told = *x;
        return {t, x->silent_for / 1s};
      }
    return {0, 0};
  }

  node_silence uut{hang_limits{.learns = true}};
  silence_report told;
};

} // namespace

TEST_CASE_METHOD(learning_fixture,
                 "node silence: a limit is learned from the longest step",
                 "[core]") {
  CHECK(uut.interval() == 1s);
  // A step every two seconds, once one of eight; then there is none.
  const auto steps = [](int64_t t) {
    return uint64_t(t < 20 ? t / 2 : t < 28 ? 10 : t < 60 ? t / 2 : 30);
  };
  const auto [when, since] = silence(1, 1000, steps);
  CHECK(told.limits.timeout == 80s);
  CHECK(since == 80);
  CHECK(when == 60 + 80);
}

TEST_CASE_METHOD(learning_fixture,
                 "node silence: a learned limit is a minute at least",
                 "[core]") {
  const auto found = silence(
    1, 500, [](int64_t t) { return uint64_t(std::min<int64_t>(t, 9)); });
  CHECK(found == std::pair<int64_t, int64_t>{9 + 60, 60});
  CHECK(told.limits.timeout == 60s);
}

TEST_CASE_METHOD(learning_fixture,
                 "node silence: nothing is silent before two steps", "[core]") {
  CHECK(silence(1, 500, [](int64_t) { return std::nullopt; }).first == 0);
  CHECK(silence(500, 1000, [](int64_t) { return 1; }).first == 0);
  CHECK(silence(1000, 1001, [](int64_t) { return 2; }).first == 0);
  CHECK(silence(1001, 9000, [](int64_t) { return 2; })
        == std::pair<int64_t, int64_t>{6000, 5000});
  // What was learned holds in the next generation, from its first step on.
  uut.begin({8}, time_point{100s + 9000s});
  CHECK(silence(9001, 20'000, [](int64_t) { return std::nullopt; }).first == 0);
  CHECK(silence(20'000, 30'000, [](int64_t) { return 1; }).first == 25'000);
}

TEST_CASE("node silence: timers and safe points teach, output does not",
          "[core]") {
  auto uut = node_silence{hang_limits{.learns = true}};
  uut.begin({7}, time_point{0s});
  auto told = std::optional<silence_report>{};
  for (auto t = 1; t < 400 && !told; ++t) {
    const auto asked = std::chrono::seconds{std::min(t / 8 * 8, 80)};
    told = uut.step({{0, uint64_t(std::min(t, 100)), time_point{asked}}},
                    time_point{std::chrono::seconds{t}});
  }
  REQUIRE(told);
  CHECK(told->silent_for == 80s); // Of steps of eight seconds; after 100 s.
}

} // namespace actorrun::test::node_silence_test
