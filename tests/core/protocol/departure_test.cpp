#include "actors/core/protocol/departure.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

namespace actorrun::test::departure_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

struct fixture {
  offer own;
  membership_step step;
  coordinator_link link{step, timeouts{}, agent_id{"a"}};
  agent_lease lease;
  generation_share share;
  node_workers workers{step, link, lease, share, own};
  departure uut{step, link, lease, share, workers};

  std::string ordered() { return test::transcript(step.take()); }

  void run() {
    auto plan = generation_plan{};
    plan.generation = {1};
    workers.take(plan, false);
    workers.run({{1}});
    step.take();
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "departure: without workers it leaves at once",
                 "[core]") {
  uut.on(drain_ordered{10s});
  CHECK(ordered() == "finish signal 0");
  CHECK(link.is(coordinator_link::state::finished));
}

TEST_CASE_METHOD(fixture, "departure: a drain gives notice once", "[core]") {
  run();
  step.begin(time_point{1s});
  uut.on(drain_ordered{10s, true});
  CHECK(ordered() == "arm_timer 1");
  CHECK(uut.has_begun());
  CHECK_FALSE(uut.has_given_notice());
  uut.on(drain_ordered{20s});
  CHECK(ordered() == "notify_workers 1");
  uut.on(drain_ordered{20s});
  CHECK(ordered() == "");
  step.begin(time_point{3s});
  CHECK(uut.time_left() == 8s);
  CHECK(uut.was_noticed({.age = 2s}));
  CHECK_FALSE(uut.was_noticed({.age = 2s + 1ns}));
}

TEST_CASE_METHOD(fixture, "departure: the first reason counts", "[core]") {
  run();
  uut.fail({errc::bad_plan, "the first"});
  uut.fail({errc::bad_plan, "the second"});
  REQUIRE(uut.how());
  CHECK(uut.how()->why->text == "the first");
  CHECK(ordered() == "stop_group 1");
  CHECK_FALSE(uut.say_drained());
}

} // namespace actorrun::test::departure_test
