#include "actors/core/workers/failure_ledger.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <cstdint>
#include <string>

namespace actorrun::test::failure_ledger_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

struct fixture {
  failure_ledger uut;

  static worker_failure of(uint32_t local_rank, duration age = 0s) {
    auto out = worker_failure{};
    out.local_rank = local_rank;
    out.age = age;
    return out;
  }

  /// Local ranks with ages in seconds, and the number of those that have no place.
  std::string others(std::chrono::seconds now) {
    const auto x = uut.take_others(time_point{now});
    auto out = std::string{};
    for (const auto& y : x.listed)
      out += std::to_string(y.local_rank) + "@"
             + std::to_string(y.age / duration{1s}) + " ";
    return out + "+" + std::to_string(x.unlisted_count);
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "failure_ledger: failures age, and are taken once",
                 "[core]") {
  CHECK(uut.empty());
  uut.add(of(1), time_point{10s});
  uut.add(of(2, 1s), time_point{12s});
  CHECK(others(15s) == "1@5 2@4 +0");
  CHECK(others(16s) == "+0");
}

TEST_CASE_METHOD(fixture, "failure_ledger: what is held back longest is first",
                 "[core]") {
  uut.add(of(1), time_point{10s});
  uut.add(of(2), time_point{11s});
  const auto first = uut.take_held(time_point{12s});
  CHECK(first == of(1, 2s));
  CHECK_FALSE(uut.has_reported());
  uut.report(first, time_point{12s});
  CHECK(uut.has_reported());
  CHECK(others(13s) == "2@2 +0");
}

TEST_CASE_METHOD(fixture,
                 "failure_ledger: one that was early is listed by its age, and "
                 "the reported one behind it",
                 "[core]") {
  uut.report(of(0), time_point{10s});
  uut.add(of(1), time_point{11s});
  CHECK(uut.has_room());
  uut.mark_early(2);
  SECTION("if it is older than that") {
    uut.add(of(2, 3s), time_point{12s});
    CHECK(others(12s) == "2@3 0@2 1@1 +0");
  }
  SECTION("else it has been reported, which is enough") {
    uut.add(of(2, 1500ms), time_point{12s});
    CHECK(others(14s) == "2@3 1@3 +0");
  }
  SECTION("however many there are") {
    for (uint32_t i = 3; i < 3 + other_failures_max; ++i)
      uut.add(of(i), time_point{11s});
    CHECK_FALSE(uut.has_room());
    uut.add(of(2, 5s), time_point{12s});
    const auto text = others(12s);
    CHECK(text.starts_with("2@5 0@2 1@1 3@1 "));
    CHECK(text.ends_with(" +3"));
  }
}

} // namespace actorrun::test::failure_ledger_test
