#include "actors/core/protocol/node_workers.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

#include <csignal>

namespace actorrun::test::node_workers_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

struct fixture {
  offer own;
  membership_step step;
  coordinator_link link{step, timeouts{}, agent_id{"a"}};
  agent_lease lease;
  generation_share share;
  node_workers uut{step, link, lease, share, own};

  std::string ordered() { return test::transcript(step.take()); }

  static generation_plan plan(uint64_t generation) {
    auto x = generation_plan{};
    x.generation = {generation};
    return x;
  }

  void run(uint64_t generation) {
    uut.take(plan(generation), false);
    uut.run({{generation}});
    step.take();
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "node_workers: a newer generation waits for the end",
                 "[core]") {
  run(1);
  uut.take(plan(2), false);
  CHECK(ordered() == "kill_group 1");
  CHECK(uut.refuse({2}));
  CHECK_FALSE(uut.refuse({3}));
  share.end({});
  uut.begin_next();
  CHECK(ordered() == "set_fence; start_group 2");
  uut.begin_next();
  CHECK(ordered() == "");
}

TEST_CASE_METHOD(fixture,
                 "node_workers: a forgotten generation may be announced again",
                 "[core]") {
  run(1);
  uut.take(plan(2), false);
  uut.forget_next();
  CHECK(uut.newest() == generation_id{1});
  CHECK_FALSE(uut.refuse({2}));
}

TEST_CASE_METHOD(fixture, "node_workers: a fence that has passed is awaited",
                 "[core]") {
  lease.end_at(time_point{});
  uut.take(plan(1), false);
  CHECK(ordered() == "");
  uut.begin_next();
  CHECK(ordered() == "set_fence; start_group 1");
}

TEST_CASE_METHOD(fixture, "node_workers: workers that park may be stopped",
                 "[core]") {
  run(1);
  uut.on(generation_revoked{{1}});
  CHECK(ordered() == "stop_group 1");
  uut.on(generation_revoked{{1}});
  CHECK(ordered() == "");
  uut.stop(SIGTERM);
  CHECK(ordered() == "stop_group 1");
  uut.stop(SIGTERM);
  CHECK(ordered() == "");
}

TEST_CASE_METHOD(
  fixture,
  "node_workers: who parks in a generation that runs, or is over, "
  "is not counted on",
  "[core]") {
  run(1);
  uut.on(group_parked{{1}, {{1}, {0}}});
  CHECK(share.parked().local_ranks.empty());
  uut.on(generation_revoked{{1}});
  uut.on(group_parked{{2}, {{2}, {0}}});
  CHECK(share.parked().local_ranks.empty());
  CHECK(ordered() == "stop_group 1");
}

} // namespace actorrun::test::node_workers_test
