#include "actors/core/protocol/life_signs.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::life_signs_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

struct fixture {
  bool is_wanted(duration t) { return uut.is_wanted(time_point{t}); }
  bool are_missing(duration t) const { return uut.are_missing(time_point{t}); }

  life_signs uut{1'200ms};
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "life_signs: N5 agents are told to go on only while whoever "
                 "decides gives signs",
                 "[core]") {
  CHECK_FALSE(are_missing(5s)); // There was no first one.
  uut.give(time_point{5s});
  CHECK_FALSE(are_missing(6'200ms));
  CHECK(are_missing(6'201ms));
  uut.give(time_point{7s});
  CHECK_FALSE(are_missing(7s));
}

TEST_CASE_METHOD(fixture,
                 "life_signs: N5 a sign is asked for in time, and not all the "
                 "time",
                 "[core]") {
  CHECK_FALSE(is_wanted(5s));
  uut.give(time_point{5s});
  CHECK_FALSE(is_wanted(5'599ms));
  CHECK(is_wanted(5'600ms));
  CHECK_FALSE(is_wanted(5'601ms));
  CHECK(is_wanted(6'200ms));
  uut.give(time_point{6'300ms});
  CHECK_FALSE(is_wanted(6'800ms));
  CHECK(is_wanted(6'900ms));
}

} // namespace actorrun::test::life_signs_test
