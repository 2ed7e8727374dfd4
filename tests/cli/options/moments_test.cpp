#include "cli/options/moments.hpp"
#include "tests/support/catch.hpp"

#include <cstdlib>
#include <ctime>

namespace actorrun::test::moments_test {

using namespace actorrun::cli;

namespace {

/// The zone of this process for one test.
struct zone {
  explicit zone(const char* name) {
    ::setenv("TZ", name, 1);
    ::tzset();
  }
  ~zone() {
    ::unsetenv("TZ");
    ::tzset();
  }
  zone(const zone&) = delete;
  zone& operator=(const zone&) = delete;
};

/// 2026-11-30 12:00:00 UTC.
constexpr auto noon_ms = int64_t{1'796'040'000'000};
constexpr auto minute_ms = int64_t{60'000};
constexpr auto hour_ms = 60 * minute_ms;

const auto bounds
  = moment_bounds{noon_ms - hour_ms, noon_ms, noon_ms + minute_ms};

int64_t at(const char* text) {
  const auto x = parse_moment(text);
  INFO(text);
  REQUIRE(x);
  return wall_ms_of(*x, bounds);
}

} // namespace

TEST_CASE("moments: spans count from the beginning, the end or now", "[cli]") {
  CHECK(at("+10m") == noon_ms - hour_ms + 10 * minute_ms);
  CHECK(at("-10m") == noon_ms - 10 * minute_ms);
  CHECK(at("10m") == noon_ms - 9 * minute_ms);
  CHECK(at("0") == noon_ms + minute_ms);
}

TEST_CASE("moments: a clock time is the last one before the end", "[cli]") {
  const auto here = zone{"UTC"};
  CHECK(at("11:30") == noon_ms - 30 * minute_ms);
  CHECK(at("11:30:05.25") == noon_ms - 30 * minute_ms + 5'250);
  CHECK(at("12:00") == noon_ms);
  CHECK(at("12:01") == noon_ms + minute_ms - 24 * hour_ms);
  CHECK(at("00:00") == noon_ms - 12 * hour_ms);
}

TEST_CASE("moments: clock times and dates are of the own zone", "[cli]") {
  const auto here = zone{"UTC-2"}; // Two hours east.
  CHECK(at("13:30") == noon_ms - 30 * minute_ms);
  CHECK(at("2026-11-30 13:30") == noon_ms - 30 * minute_ms);
  CHECK(at("2026-11-30") == noon_ms - 14 * hour_ms);
  CHECK(at("2026-11-30T13:30:01.5+02:00") == noon_ms - 30 * minute_ms + 1'500);
  CHECK(at("2026-11-30T11:30:00Z") == noon_ms - 30 * minute_ms);
  CHECK(at("2026-11-30 06:00:00-0530") == noon_ms - 30 * minute_ms);
}

TEST_CASE("moments: the day on which clocks change has its own offsets",
          "[cli]") {
  const auto here = zone{"CET-1CEST,M3.5.0,M10.5.0/3"};
  const auto before = parse_moment("2026-10-25 01:00");
  const auto after = parse_moment("2026-10-25 04:00");
  REQUIRE(before);
  REQUIRE(after);
  CHECK(after->ms - before->ms == 4 * hour_ms);
}

TEST_CASE("moments: what is none is refused", "[cli]") {
  for (const auto* text :
       {"", "noon", "25:00", "12:60", "3:10", "12:00x", "2026-13-01",
        "2026-11-30x", "2026-11-30 1", "2026-11-30 12:00 CET",
        "2026-11-30 12:00:00.", "+", "-", "+x", "1w", "--1s"}) {
    INFO(text);
    CHECK_FALSE(parse_moment(text));
  }
}

} // namespace actorrun::test::moments_test
