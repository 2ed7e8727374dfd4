#include "actors/core/vitals/cpu_meter.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace actorrun::test::cpu_meter_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

/// A meter of process 7 with 100 ticks per second; `at` returns its use.
struct fixture {
  std::optional<uint32_t> at(std::chrono::milliseconds t, uint64_t ticks,
                             uint64_t birth = 1) {
    uut.begin(time_point{t});
    return uut.note({7, birth, ticks, t - born});
  }

  std::chrono::milliseconds born{0};
  cpu_meter uut{100};
};

} // namespace

TEST_CASE_METHOD(fixture, "cpu_meter: use is that since the last sample",
                 "[core]") {
  CHECK(at(10s, 500) == 50u); // Since its start.
  CHECK(at(11s, 600) == 100u);
  CHECK(at(11'200ms, 600) == 0u);
  CHECK(at(11'400ms, 680) == 400u);
}

TEST_CASE_METHOD(fixture, "cpu_meter: a new process of a number starts anew",
                 "[core]") {
  at(10s, 500);
  born = 10s;
  CHECK(at(12s, 100, 2) == 50u);
}

TEST_CASE_METHOD(fixture,
                 "cpu_meter: use is unknown where a child process is gone, or "
                 "no time has passed",
                 "[core]") {
  CHECK_FALSE(at(0s, 0));
  at(1s, 500);
  CHECK_FALSE(at(2s, 499));
  CHECK_FALSE(at(2s, 499));
  CHECK(at(3s, 509) == 10u);
}

TEST_CASE_METHOD(fixture, "cpu_meter: huge numbers are the largest one",
                 "[core]") {
  CHECK(at(1ms, UINT64_MAX) == UINT32_MAX);
  CHECK_FALSE(at(2ms, 0));
  CHECK(at(3ms, UINT64_MAX) == UINT32_MAX);
}

TEST_CASE_METHOD(fixture, "cpu_meter: only a recent sample is a base",
                 "[core]") {
  CHECK_FALSE(uut.has_base(time_point{1s}));
  at(1s, 1);
  CHECK(uut.has_base(time_point{1s}));
  CHECK(uut.has_base(time_point{11s}));
  CHECK_FALSE(uut.has_base(time_point{11'001ms}));
}

} // namespace actorrun::test::cpu_meter_test
