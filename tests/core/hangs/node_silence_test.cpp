#include "actors/core/hangs/node_silence.hpp"
#include "tests/support/catch.hpp"

using namespace actorrun;
using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

constexpr auto limits = hang_limits{10s, true};

struct fixture {
  fixture() { uut.begin({7}, time_point{100s}); }

  /// How long the node says that it is silent, in ms; -1: nothing is new.
  int64_t at(duration t, const std::vector<worker_signs>& workers) {
    const auto news = uut.step(workers, time_point{100s + t});
    if (!news)
      return -1;
    last = *news;
    return std::chrono::duration_cast<std::chrono::milliseconds>(
             news->silent_for)
      .count();
  }

  static worker_signs wrote(uint64_t size) { return {size, {}}; }
  static worker_signs asked(duration t) { return {{}, time_point{100s + t}}; }

  node_silence uut{limits};
  silence_report last;
};

} // namespace

TEST_CASE_METHOD(fixture, "node silence: it is told once, and so is its end",
                 "[core]") {
  CHECK(at(1s, {wrote(0), wrote(5)}) == -1);
  CHECK(at(10'999ms, {wrote(0), wrote(5)}) == -1);
  CHECK(at(11s, {wrote(0), wrote(5)}) == 10'000);
  CHECK(last == silence_report{{7}, 10s, true, limits});
  CHECK(at(20s, {wrote(0), wrote(5)}) == -1);
  CHECK(at(21s, {wrote(1), wrote(5)}) == 0);
  CHECK(last == silence_report{{7}, 0s, true, limits});
  CHECK(at(30'999ms, {wrote(1), wrote(5)}) == -1);
  CHECK(at(31s, {wrote(1), wrote(5)}) == 10'000);
}

TEST_CASE_METHOD(fixture, "node silence: any worker's sign counts for the node",
                 "[core]") {
  CHECK(at(1s, {wrote(0), {}}) == -1);
  CHECK(at(9s, {wrote(0), asked(8s)}) == -1);
  CHECK(at(17'999ms, {wrote(0), asked(8s)}) == -1);
  CHECK(at(18s, {wrote(0), asked(8s)}) == 10'000);
}

TEST_CASE_METHOD(fixture, "node silence: a file that is not seen is no sign",
                 "[core]") {
  CHECK(at(1s, {wrote(5)}) == -1);
  CHECK(at(5s, {worker_signs{}}) == -1);
  CHECK(at(6s, {wrote(5)}) == -1);
  CHECK(at(11s, {wrote(5)}) == 10'000);
}

TEST_CASE_METHOD(fixture, "node silence: it is said if no sign could be seen",
                 "[core]") {
  CHECK(at(10s, {worker_signs{}, worker_signs{}}) == 10'000);
  CHECK_FALSE(last.can_tell);
  CHECK(at(11s, {worker_signs{}, asked(11s)}) == 0);
  CHECK(last.can_tell);
}

TEST_CASE_METHOD(fixture, "node silence: each generation begins anew",
                 "[core]") {
  CHECK(at(10s, {wrote(5)}) == -1); // The first look.
  CHECK(at(20s, {wrote(5)}) == 10'000);
  uut.begin({8}, time_point{121s});
  CHECK(at(29s, {asked(1s)}) == -1);
  CHECK(at(31s, {asked(1s)}) == 10'000);
  CHECK(last.generation == generation_id{8});
}

TEST_CASE_METHOD(fixture,
                 "node silence: workers that are to end are not watched",
                 "[core]") {
  CHECK(uut.is_watching());
  uut.end();
  CHECK_FALSE(uut.is_watching());
  CHECK(at(60s, {wrote(5)}) == -1);
}

TEST_CASE_METHOD(fixture, "node silence: another coordinator is told again",
                 "[core]") {
  CHECK(at(0s, {wrote(5)}) == -1);
  CHECK(at(10s, {wrote(5)}) == 10'000);
  uut.forget_report();
  CHECK(at(12s, {wrote(5)}) == 12'000);
}

TEST_CASE("node silence: it looks eight times per limit, within bounds",
          "[core]") {
  CHECK(node_silence{{8s, true}}.interval() == 1s);
  CHECK(node_silence{{100ms, true}}.interval() == 50ms);
  CHECK(node_silence{{1h, true}}.interval() == 5s);
}
