#include "actors/core/reports/line_budget.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::line_budget_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

TEST_CASE("line_budget: S10 some lines at once, and then so many per time",
          "[core]") {
  auto uut = line_budget{3, 100ms};
  const auto take = [&](duration t) { return uut.take(time_point{t}); };
  for (auto i = 0; i < 3; ++i)
    CHECK(take(10s));
  CHECK_FALSE(take(10s));
  CHECK_FALSE(take(10'099ms));
  CHECK(take(10'100ms));
  CHECK_FALSE(take(10'150ms));
  CHECK(uut.take_left_out() == 3);
  CHECK(uut.take_left_out() == 0);
  CHECK(take(10'350ms));
  CHECK(take(10'350ms)); // The half is not lost.
  CHECK_FALSE(take(10'399ms));
  CHECK(take(10'400ms));
}

TEST_CASE("line_budget: what was not used does not add up", "[core]") {
  auto uut = line_budget{2, 100ms};
  const auto take = [&](duration t) { return uut.take(time_point{t}); };
  CHECK(take(10s));
  CHECK(take(100s));
  CHECK(take(100s));
  CHECK_FALSE(take(100s));
}

} // namespace actorrun::test::line_budget_test
