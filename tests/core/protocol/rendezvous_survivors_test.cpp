// Which ranks workers get that live through a change, and who is told of them.
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_survivors_test {

namespace {

/// Three nodes of two slots, two restarts.
struct fixture : rendezvous_fixture {
  explicit fixture(job_settings asked = {2, 3, 2})
    : rendezvous_fixture{asked} {}

  static workers_stopped parked(const std::string& agent, uint64_t generation,
                                std::vector<uint32_t> local_ranks) {
    auto x = stopped(agent, generation);
    x.parked = {{generation}, std::move(local_ranks)};
    return x;
  }

  /// Generation 1 of `a`, `b` and `c`, workers running.
  void run_wide() {
    for (const auto* agent : {"a", "b", "c"})
      at(0s, join(agent, 2));
    for (const auto* agent : {"a", "b", "c"})
      at(0s, started(agent, 1));
    REQUIRE(uut.current_phase() == phase::running);
  }

  const std::vector<generation_plan>& plans() const {
    return last<announce_generation>().plans;
  }
};

/// All three of them are needed.
struct full_fixture : fixture {
  full_fixture() : fixture{{3, 3, 2}} {}
};

struct ranked_fixture : fixture {
  ranked_fixture() : fixture{{2, 2, 2, true}} {}
};

} // namespace

TEST_CASE_METHOD(fixture, "rendezvous: plans name the ranks that live on",
                 "[core]") {
  run_wide();
  at(1s, failed("b", 1));
  at(1s, parked("a", 1, {0, 1}));
  at(1s, parked("b", 1, {1}));
  CHECK(at(1s, parked("c", 1, {0, 1}))
        == "announce_generation 2: a=0+2 b=2+2 c=4+2");
  for (const auto& plan : plans()) {
    CHECK(plan.survivors == rank_runs{{0, 1}, {3, 5}});
    CHECK(plan.own.lead_slot == 0);
  }
  for (const auto& [agent, x] : uut.agents())
    CHECK(x.parked.local_ranks.empty()); // They are at work.
}

TEST_CASE_METHOD(fixture, "rendezvous: a survivor of the first node has rank 0",
                 "[core]") {
  run_wide();
  at(1s, failed("a", 1));
  at(1s, parked("a", 1, {1}));
  at(1s, parked("b", 1, {0, 1}));
  at(1s, parked("c", 1, {0, 1}));
  CHECK(plans().front().own.agent == agent_id{"a"});
  CHECK(plans().front().own.lead_slot == 1);
  CHECK(plans().front().own.global_rank(1) == 0);
  CHECK(plans().front().survivors == rank_runs{{0, 0}, {2, 5}});
  SECTION("and keeps it") {
    for (const auto* agent : {"a", "b", "c"})
      at(2s, started(agent, 2));
    at(3s, failed("b", 2));
    at(3s, parked("a", 2, {0, 1}));
    at(3s, parked("b", 2, {1}));
    at(3s, parked("c", 2, {0, 1}));
    CHECK(plans().front().own.lead_slot == 1);
    CHECK(plans().front().survivors == rank_runs{{0, 1}, {3, 5}});
  }
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: without a survivor the first node changes "
                 "places with one that has",
                 "[core]") {
  run_wide();
  at(1s, failed("a", 1));
  at(1s, stopped("a", 1));
  at(1s, stopped("b", 1));
  CHECK(at(1s, parked("c", 1, {1}))
        == "announce_generation 2: c=0+2 b=2+2 a=4+2");
  CHECK(plans().front().own.lead_slot == 1);
  CHECK(plans().front().survivors == rank_runs{{0, 0}});
  CHECK(plans().front().master_address == "address-c");
}

TEST_CASE_METHOD(full_fixture,
                 "rendezvous: newcomers keep their order behind it", "[core]") {
  run_wide();
  for (const auto* gone : {"a", "b"}) {
    at(1s, disconnect(gone));
    at(1s, lose(gone));
  }
  at(1s, parked("c", 1, {0}));
  at(1s, join("e", 2));
  CHECK(
    at(1s, join("d", 2)).ends_with("announce_generation 2: c=0+2 d=2+2 e=4+2"));
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: who has parked in an older generation is no "
                 "survivor of the last",
                 "[core]") {
  run_wide();
  at(1s, failed("a", 1));
  at(1s, parked("a", 1, {0}));
  at(1s, parked("b", 1, {0}));
  at(1s, parked("c", 1, {0}));
  // Of the second generation, only `a` has begun.
  at(2s, failed("a", 2));
  at(2s, parked("a", 2, {0}));
  auto b = stopped("b", 2);
  b.parked = {{1}, {0}};
  at(2s, b);
  auto c = b;
  c.agent = {"c"};
  at(2s, c);
  CHECK(plans().front().survivors == rank_runs{{0, 0}});
}

TEST_CASE_METHOD(fixture, "rendezvous: one that ends parked is not counted on",
                 "[core]") {
  run_wide();
  at(1s, failed("a", 1));
  at(1s, parked("a", 1, {1}));
  at(1s, parked("a", 1, {}));
  at(1s, parked("b", 1, {0}));
  at(1s, parked("c", 1, {0}));
  CHECK(plans().front().own.agent == agent_id{"b"});
  CHECK(plans().front().survivors == rank_runs{{0, 0}, {4, 4}});
}

TEST_CASE_METHOD(fixture, "rendezvous: an agent cannot park what it has not",
                 "[core]") {
  run_wide();
  at(1s, failed("a", 1));
  at(1s, parked("a", 1, {7, 1, 1, 4'000'000'000}));
  at(1s, stopped("b", 1));
  at(1s, stopped("c", 1));
  CHECK(plans().front().survivors == rank_runs{{0, 0}});
}

TEST_CASE_METHOD(fixture, "rendezvous: who comes back tells what it has parked",
                 "[core]") {
  run_wide();
  const auto plan = plan_of("a");
  at(1s, disconnect("a"));
  auto back = rejoin("a", plan, share_state::idle);
  back.held->parked = {{1}, {0, 1}};
  at(1s, back);
  at(1s, stopped("b", 1));
  at(1s, stopped("c", 1));
  CHECK(plans().front().survivors == rank_runs{{0, 1}});
}

TEST_CASE_METHOD(fixture, "rendezvous: who says that it works has parked none",
                 "[core]") {
  run_wide();
  auto back = rejoin("a", plan_of("a"), share_state::running);
  back.held->parked = {{1}, {0, 1}};
  at(1s, disconnect("a"));
  at(1s, back);
  CHECK(uut.agents().at({"a"}).parked.local_ranks.empty());
}

TEST_CASE_METHOD(ranked_fixture,
                 "rendezvous: nodes with ranks of their own keep them",
                 "[core]") {
  const auto ranked = [this](const std::string& agent, uint32_t rank) {
    auto x = join(agent, 2);
    x.offering.node_rank = rank;
    return x;
  };
  at(0s, ranked("a", 0));
  at(0s, ranked("b", 1));
  at(0s, started("a", 1));
  at(0s, started("b", 1));
  at(1s, failed("a", 1));
  at(1s, stopped("a", 1));
  CHECK(at(1s, parked("b", 1, {0, 1})) == "announce_generation 2: a=0+2 b=2+2");
  CHECK(plans().front().survivors == rank_runs{{2, 3}});
  CHECK(plans().front().own.lead_slot == 0);
}

} // namespace actorrun::test::rendezvous_survivors_test
