#include "actors/core/protocol/generation_recovery.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::generation_recovery_test {

using namespace actorrun::core;

namespace {

/// Up to three agents come back to a coordinator without knowledge of generations.
struct fixture {
  generation_recovery::progress claims(const std::string& agent,
                                       uint64_t generation, share_state state,
                                       uint32_t node_count = 2,
                                       uint16_t master_port = 29500) {
    auto held = claim{};
    held.plan.generation = {generation};
    held.plan.node_count = node_count;
    held.plan.master_port = master_port;
    held.plan.own.agent = {agent};
    held.plan.own.node_rank = static_cast<uint32_t>(agent.front() - 'a');
    held.state = state;
    return claims(agent, held);
  }

  generation_recovery::progress claims(const std::string& agent,
                                       const claim& held) {
    auto x = offer{};
    x.agent = {agent};
    auto* record = agents.find(x.agent);
    if (record == nullptr)
      record = &agents.add(x);
    return uut.take(agents, *record, held, 1);
  }

  agent_table agents{{.agent_count_min = 1, .agent_count_max = 3}};
  generation_recovery uut;
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "generation_recovery: the first claim begins the listening",
                 "[core]") {
  CHECK(uut.is_open());
  CHECK_FALSE(uut.is_listening());
  const auto found = claims("a", 4, share_state::running);
  CHECK(found.has_begun);
  CHECK(found.is_newer);
  CHECK_FALSE(found.is_complete);
  CHECK(uut.is_listening());
  CHECK(agents.generation() == generation_id{4});
}

TEST_CASE_METHOD(fixture,
                 "generation_recovery: it is complete when all are back",
                 "[core]") {
  uut.listen({}, time_point{});
  CHECK_FALSE(claims("a", 4, share_state::running).is_complete);
  const auto last = claims("b", 4, share_state::starting);
  CHECK(last.is_complete);
  CHECK_FALSE(last.is_newer);
  const auto found = uut.conclude(agents);
  CHECK(found.has_generation);
  CHECK(found.member_count == 2);
  CHECK(found.stopped_count == 0);
  CHECK(found.stale.empty());
  CHECK_FALSE(uut.is_open());
  CHECK_FALSE(uut.is_listening());
}

TEST_CASE_METHOD(fixture, "generation_recovery: stopped workers prove nothing",
                 "[core]") {
  uut.listen({}, time_point{});
  claims("a", 4, share_state::running);
  CHECK_FALSE(claims("b", 4, share_state::idle).is_complete);
  CHECK(uut.conclude(agents).stopped_count == 1);
}

TEST_CASE_METHOD(fixture, "generation_recovery: the newest generation goes on",
                 "[core]") {
  uut.listen({}, time_point{});
  claims("a", 4, share_state::running);
  CHECK(claims("b", 5, share_state::running).is_newer);
  CHECK(agents.generation() == generation_id{5});
  const auto found = uut.conclude(agents);
  REQUIRE(found.stale.size() == 1);
  CHECK(found.stale.front().agent == agent_id{"a"});
  CHECK(found.stale.front().generation == generation_id{4});
  CHECK(found.member_count == 1);
}

TEST_CASE_METHOD(fixture,
                 "generation_recovery: of two generations with one number the "
                 "one whose workers run goes on",
                 "[core]") {
  uut.listen({}, time_point{});
  claims("a", 4, share_state::stopping, 2, 29500);
  CHECK(claims("b", 4, share_state::running, 2, 29501).is_newer);
  CHECK(agents.common_plan().master_port == 29501);
  claims("c", 4, share_state::stopping, 2, 29500);
  CHECK(agents.common_plan().master_port == 29501);
  const auto found = uut.conclude(agents);
  CHECK(found.member_count == 1);
  CHECK(found.stale.size() == 2);
}

TEST_CASE_METHOD(
  fixture,
  "generation_recovery: S3 one that is whole gives way to a larger "
  "one that is whole, too",
  "[core]") {
  uut.listen({}, time_point{});
  claims("a", 4, share_state::running);
  REQUIRE(claims("b", 4, share_state::running).is_complete);
  CHECK_FALSE(claims("c", 5, share_state::running, 1).is_newer);
  CHECK_FALSE(claims("d", 6, share_state::running, 3).is_newer);
  CHECK_FALSE(claims("e", 6, share_state::running, 3).is_newer);
  CHECK(agents.generation() == generation_id{4});
  CHECK(claims("f", 6, share_state::running, 3).is_newer);
  CHECK(agents.generation() == generation_id{6});
}

TEST_CASE_METHOD(fixture, "generation_recovery: claimed failures are found",
                 "[core]") {
  uut.listen({}, time_point{});
  CHECK(claims("a", 4, share_state::failed).failure.has_value());
  CHECK_FALSE(claims("b", 4, share_state::running).failure.has_value());
}

TEST_CASE_METHOD(
  fixture, "generation_recovery: a failure is claimed though its share stops",
  "[core]") {
  uut.listen({}, time_point{});
  auto held = claim{.plan = {}, .state = share_state::stopping, .failure = {}};
  held.plan.generation = {4};
  held.plan.node_count = 2;
  held.failure = worker_failure{};
  held.failure->code = 7;
  CHECK(claims("a", held).failure.value().code == 7);
}

TEST_CASE_METHOD(
  fixture,
  "generation_recovery: what failed in a rival generation that is over is "
  "not the other one's",
  "[core]") {
  uut.listen({}, time_point{});
  claims("a", 4, share_state::running, 2, 29500);
  auto held = claim{.plan = {}, .state = share_state::stopping, .failure = {}};
  held.plan.generation = {4};
  held.plan.node_count = 2;
  held.plan.master_port = 29501;
  held.failure = worker_failure{};
  CHECK_FALSE(claims("b", held).failure.has_value());
}

TEST_CASE_METHOD(
  fixture, "generation_recovery: who leaves after a success has not stopped",
  "[core]") {
  uut.listen({}, time_point{});
  for (const auto state : {share_state::running, share_state::succeeded}) {
    const auto name = std::string{state == share_state::running ? "a" : "b"};
    claims(name, 4, state);
    agents.change(*agents.find({name}), [](auto& x) { x.leaving = true; });
  }
  CHECK(uut.conclude(agents).stopped_count == 1);
}

TEST_CASE(
  "generation_recovery: one number and another plan is another generation",
  "[core]") {
  auto base = claim{.plan = {}, .state = share_state::running, .failure = {}};
  base.plan.generation = {4};
  base.plan.node_count = 2;
  const auto differs = [&](auto change) {
    auto job = fixture{};
    job.uut.listen({}, time_point{});
    auto stopped = base;
    stopped.state = share_state::stopping;
    job.claims("a", stopped);
    auto other = base;
    change(other.plan);
    return job.claims("b", other).is_newer;
  };
  CHECK_FALSE(differs([](auto&) {}));
  CHECK_FALSE(differs([](auto& x) { x.own.node_rank = 1; }));
  CHECK(differs([](auto& x) { x.node_count = 3; }));
  CHECK(differs([](auto& x) { x.world_size = 3; }));
  CHECK(differs([](auto& x) { x.master_port = 3; }));
  CHECK(differs([](auto& x) { x.master_address = "elsewhere"; }));
}

TEST_CASE_METHOD(fixture, "generation_recovery: without claims it stays open",
                 "[core]") {
  uut.listen({7}, time_point{});
  CHECK_FALSE(uut.conclude(agents).has_generation);
  CHECK(uut.is_open());
  CHECK_FALSE(uut.is_listening());
  CHECK(uut.name_generation({})
        == generation_id{8}); // Up to 7 may have existed.
  CHECK_FALSE(uut.is_open());
}

TEST_CASE_METHOD(fixture,
                 "generation_recovery: running workers prove that there is "
                 "no newer generation",
                 "[core]") {
  uut.listen({100}, time_point{});
  claims("a", 4, share_state::running);
  SECTION("if all its agents say so") {
    claims("b", 4, share_state::running);
    uut.conclude(agents);
    CHECK(uut.name_generation(agents.generation()) == generation_id{5});
  }
  SECTION("but not by the word of one") {
    uut.conclude(agents);
    CHECK(uut.name_generation(agents.generation()) == generation_id{101});
  }
}

TEST_CASE_METHOD(fixture,
                 "generation_recovery: numbers are greater than all that were "
                 "seen",
                 "[core]") {
  uut.see({9});
  uut.see({3});
  CHECK(uut.name_generation({4}) == generation_id{10});
  CHECK(uut.name_generation({10}) == generation_id{11});
}

} // namespace actorrun::test::generation_recovery_test
