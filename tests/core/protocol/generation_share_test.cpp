#include "actors/core/protocol/generation_share.hpp"
#include "tests/support/catch.hpp"

#include <chrono>

namespace actorrun::test::generation_share_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

generation_plan plan_of(uint64_t generation) {
  auto x = generation_plan{};
  x.generation = {generation};
  return x;
}

} // namespace

TEST_CASE("generation_share: before the first generation there is nothing",
          "[core]") {
  const auto uut = generation_share{};
  CHECK(uut.generation() == generation_id{});
  CHECK_FALSE(uut.holds({}));
  CHECK_FALSE(uut.may_run());
  CHECK_FALSE(uut.held(false, time_point{}));
}

TEST_CASE("generation_share: workers may run until they have ended", "[core]") {
  auto uut = generation_share{};
  uut.begin(plan_of(3));
  CHECK(uut.holds({3}));
  CHECK(uut.is_active());
  CHECK(uut.may_run());
  uut.stop();
  CHECK_FALSE(uut.is_active());
  CHECK(uut.may_run());
  uut.end({});
  CHECK(uut.state() == share_state::idle);
  CHECK_FALSE(uut.may_run());
}

TEST_CASE("generation_share: a failure outlasts the end of the workers",
          "[core]") {
  auto uut = generation_share{};
  uut.begin(plan_of(3));
  uut.fail({.code = 7, .age = 1s}, time_point{10s});
  CHECK(uut.may_run());
  uut.end({});
  CHECK(uut.state() == share_state::failed);
  CHECK_FALSE(uut.may_run());
  CHECK(uut.held(false, time_point{12s})->failure->age == 3s);
  uut.begin(plan_of(4));
  CHECK_FALSE(uut.held(false, time_point{12s})->failure);
  uut.fail({.code = 8}, time_point{13s});
  CHECK(uut.may_run()); // Until this generation's workers have ended, too.
}

TEST_CASE("generation_share: all failures age", "[core]") {
  auto uut = generation_share{};
  uut.begin(plan_of(3));
  uut.fail({.code = 7}, time_point{10s});
  uut.add({{{.code = 8, .age = 1s}}, 2}, time_point{11s});
  uut.add({{{.code = 9}}, 0}, time_point{12s});
  const auto others = uut.others(time_point{13s});
  REQUIRE(others.listed.size() == 2);
  CHECK(others.listed[0].age == 3s);
  CHECK(others.listed[1].age == 1s);
  CHECK(others.unlisted_count == 2);
  CHECK(uut.held(false, time_point{13s})->failure->age == 3s);
}

TEST_CASE("generation_share: past the fence workers are claimed as stopping",
          "[core]") {
  auto uut = generation_share{};
  uut.begin(plan_of(3));
  CHECK(uut.held(false, time_point{})->state == share_state::starting);
  CHECK(uut.held(true, time_point{})->state == share_state::stopping);
  uut.succeed();
  CHECK(uut.held(true, time_point{})->state == share_state::succeeded);
}

} // namespace actorrun::test::generation_share_test
