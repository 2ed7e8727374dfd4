#include "actors/core/workers/step_hold.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

namespace actorrun::test::step_hold_test {

using namespace actorrun::core;

namespace {

using kind = safe_point_order::kind;

struct fixture {
  step_hold uut{3};
  std::vector<uint32_t> running{0, 1};

  void begin(kind what, uint64_t step = 0) { uut.begin({what, step}, running); }

  std::string answer(bool all_live = true) {
    const auto x = uut.answer(running, all_live);
    return x ? to_string(*x) : "";
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "step_hold: an order is answered once, by all",
                 "[core]") {
  CHECK(answer() == "");
  begin(kind::hold);
  CHECK(uut.is_due());
  uut.held(1, 7);
  CHECK(answer() == "");
  uut.held(0, 4);
  CHECK(answer() == "held 7");
  CHECK_FALSE(uut.is_due());
  CHECK(answer() == "");
  begin(kind::stop_at, 9);
  CHECK(answer() == "");
  uut.reached(0, 9);
  uut.reached(1, 8); // Of an older order.
  CHECK(answer() == "");
  uut.reached(1, 10); // It has no safe point at 9.
  CHECK(answer() == "reached 9");
}

TEST_CASE_METHOD(fixture, "step_hold: an answer names the round", "[core]") {
  running.clear();
  uut.begin({kind::hold, 0, 5}, {});
  CHECK(uut.answer({}, true)->round == 5);
  uut.begin({kind::stop_at, 3, 6}, {});
  CHECK(uut.answer({}, true)->round == 6);
  uut.begin({kind::hold, 0, 7}, {});
  CHECK(uut.answer({0}, false)->round == 7);
}

TEST_CASE_METHOD(fixture, "step_hold: a repeated order is answered again",
                 "[core]") {
  SECTION("to hold") {
    begin(kind::hold);
    uut.held(0, 1);
    begin(kind::hold);
    uut.held(0, 2);
    uut.held(1, 1);
    uut.held(1, 2);
    CHECK(answer() == "held 2");
  }
  SECTION("to stop, which workers answer once") {
    begin(kind::stop_at, 9);
    uut.reached(0, 9);
    uut.reached(1, 9);
    CHECK(answer() == "reached 9");
    begin(kind::stop_at, 9);
    CHECK(answer() == "reached 9");
  }
  SECTION("to stop elsewhere") {
    begin(kind::stop_at, 9);
    uut.reached(0, 9);
    begin(kind::stop_at, 12);
    uut.reached(1, 12);
    CHECK(answer() == "");
  }
}

TEST_CASE_METHOD(fixture,
                 "step_hold: an answer to an order that was called off is none",
                 "[core]") {
  begin(kind::hold);
  begin(kind::go_on);
  CHECK(answer() == "");
  begin(kind::hold);
  uut.held(0, 3);
  uut.held(1, 3);
  CHECK(answer() == "");
  uut.held(0, 5);
  uut.held(1, 4);
  CHECK(answer() == "held 5");
}

TEST_CASE_METHOD(fixture, "step_hold: what was not asked for is ignored",
                 "[core]") {
  uut.held(0, 3);
  uut.reached(0, 3);
  begin(kind::hold);
  uut.reached(1, 3);
  uut.held(1, 3);
  CHECK(answer() == "");
  uut.held(0, 3);
  CHECK(answer() == "held 3");
}

TEST_CASE_METHOD(fixture, "step_hold: a worker that cannot be told refuses",
                 "[core]") {
  begin(kind::hold);
  CHECK(answer(false) == "refused");
  CHECK(answer(false) == "");
}

TEST_CASE_METHOD(fixture, "step_hold: without workers all is as it should be",
                 "[core]") {
  running.clear();
  begin(kind::hold);
  CHECK(answer() == "held 0");
  begin(kind::stop_at, 2);
  CHECK(answer() == "reached 2");
}

} // namespace actorrun::test::step_hold_test
