#include "actors/core/hangs/node_silence.hpp"
#include "tests/support/catch.hpp"

using namespace actorrun;
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
