#include "actors/core/protocol/safe_point_round.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::safe_point_round_test {

using namespace actorrun::core;

namespace {

using kind = safe_point_report::kind;
using progress = safe_point_round::progress;

const auto a = agent_id{"a"};
const auto b = agent_id{"b"};

struct fixture {
  fixture() { uut.begin({a, b}, time_point{}); }

  safe_point_round uut;
};

} // namespace

TEST_CASE_METHOD(fixture, "safe_point_round: all stop at the largest step",
                 "[core]") {
  CHECK(to_string(uut.order()) == "hold");
  CHECK(uut.take(a, {kind::held, 7, 1}) == progress::none);
  CHECK(uut.take(a, {kind::held, 9, 1}) == progress::none); // Said already.
  CHECK_FALSE(uut.has_step());
  CHECK(uut.take(b, {kind::held, 5, 1}) == progress::all_hold);
  CHECK(to_string(uut.order()) == "stop_at 7");
  CHECK(uut.take(b, {kind::reached, 7, 1}) == progress::none);
  CHECK(uut.take(a, {kind::reached, 7, 1}) == progress::all_there);
  uut.end();
  CHECK_FALSE(uut.is_active());
  CHECK(to_string(uut.order()) == "go_on");
  uut.begin({a}, time_point{});
  CHECK(uut.order().round == 2);
  CHECK(uut.take(a, {kind::held, 7, 1}) == progress::none);
  CHECK(uut.take(a, {kind::held, 8, 2}) == progress::all_hold);
}

TEST_CASE_METHOD(fixture, "safe_point_round: what answers another order",
                 "[core]") {
  const auto said = GENERATE(safe_point_report{kind::stepping},
                             safe_point_report{kind::held, 7, 0},
                             safe_point_report{kind::reached, 7, 1});
  CHECK(uut.take(a, said) == progress::none);
  CHECK(uut.take({"c"}, {kind::held, 90, 1}) == progress::none);
  CHECK(uut.take({"c"}, {kind::refused, 0, 1}) == progress::none);
  CHECK(uut.take(a, {kind::held, 7, 1}) == progress::none);
  CHECK(uut.take(b, {kind::held, 7, 1}) == progress::all_hold);
  CHECK(uut.take(a, {kind::reached, 6, 1}) == progress::none);
  CHECK(uut.take(a, {kind::held, 8, 1}) == progress::none);
  CHECK(uut.take(b, {kind::reached, 7, 1}) == progress::none);
}

TEST_CASE_METHOD(fixture, "safe_point_round: one that refuses ends it",
                 "[core]") {
  CHECK(uut.take(a, {kind::refused, 0, 1}) == progress::refused);
}

TEST_CASE_METHOD(fixture, "safe_point_round: who has succeeded need not stop",
                 "[core]") {
  SECTION("before it holds") {
    uut.take(a, {kind::held, 7, 1});
    CHECK(uut.leave(b) == progress::all_hold);
    CHECK(uut.take(a, {kind::reached, 7, 1}) == progress::all_there);
  }
  SECTION("afterwards") {
    uut.take(a, {kind::held, 7, 1});
    CHECK(uut.leave(a) == progress::none);
    CHECK(uut.take(b, {kind::held, 3, 1}) == progress::all_hold);
    CHECK(uut.leave(b) == progress::all_there);
  }
  SECTION("all of them") {
    CHECK(uut.leave(a) == progress::none);
    CHECK(uut.leave(b) == progress::all_there);
  }
}

} // namespace actorrun::test::safe_point_round_test
