#include "actors/core/protocol/rank_assignment.hpp"
#include "tests/support/catch.hpp"

#include <map>
#include <random>
#include <string>
#include <vector>

namespace actorrun::test::rank_assignment_test {

using namespace actorrun::core;

namespace {

offer slots(const std::string& agent, uint32_t count,
            const std::string& role = "default") {
  auto x = offer{};
  x.agent = {agent};
  x.slot_count = count;
  x.role = role;
  return x;
}

/// `a: node 0, 4 slots from 0, role 0 of 4` per placement, or the failure.
std::string assigned(const std::vector<offer>& offers) {
  const auto placements = assign_ranks(offers);
  if (!placements)
    return std::string{to_string(placements.error().code)} + ": "
           + placements.error().text;
  auto text = std::string{};
  for (const auto& x : *placements)
    text += (text.empty() ? "" : "; ") + x.agent.value + ": node "
            + std::to_string(x.node_rank) + ", " + std::to_string(x.slot_count)
            + " slots from " + std::to_string(x.first_global_rank) + ", role "
            + std::to_string(x.first_role_rank) + " of "
            + std::to_string(x.role_world_size);
  return text;
}

std::vector<offer> many(size_t n) {
  auto offers = std::vector<offer>{};
  for (size_t i = 0; i < n; ++i)
    offers.push_back(slots(std::to_string(i), 1));
  return offers;
}

} // namespace

TEST_CASE("rank_assignment: without offers there are no ranks", "[core]") {
  CHECK(assigned({}) == "");
}

TEST_CASE("rank_assignment: one node takes all ranks", "[core]") {
  CHECK(assigned({slots("a", 4)}) == "a: node 0, 4 slots from 0, role 0 of 4");
}

TEST_CASE("rank_assignment: node ranks follow the offers", "[core]") {
  CHECK(assigned({slots("b", 2), slots("a", 2)})
        == "b: node 0, 2 slots from 0, role 0 of 4; "
           "a: node 1, 2 slots from 2, role 2 of 4");
}

TEST_CASE("rank_assignment: slots of uneven nodes are added up", "[core]") {
  CHECK(assigned({slots("a", 3), slots("b", 1), slots("c", 8)})
        == "a: node 0, 3 slots from 0, role 0 of 12; "
           "b: node 1, 1 slots from 3, role 3 of 12; "
           "c: node 2, 8 slots from 4, role 4 of 12");
}

TEST_CASE("rank_assignment: each role has ranks of its own", "[core]") {
  CHECK(assigned({slots("a", 3, "trainer"), slots("b", 1, "reader"),
                  slots("c", 2, "trainer"), slots("d", 2, "")})
        == "a: node 0, 3 slots from 0, role 0 of 5; "
           "b: node 1, 1 slots from 3, role 0 of 1; "
           "c: node 2, 2 slots from 4, role 3 of 5; "
           "d: node 3, 2 slots from 6, role 0 of 2");
}

TEST_CASE("rank_assignment: slot counts have bounds", "[core]") {
  CHECK(slots_per_agent_max == 4096);
  CHECK(assigned({slots("a", 1), slots("b", 0)})
        == "bad_slot_count: b offers 0 slots");
  CHECK(assigned({slots("a", 1)}) == "a: node 0, 1 slots from 0, role 0 of 1");
  CHECK(assigned({slots("a", 4096), slots("b", 4096)})
        == "a: node 0, 4096 slots from 0, role 0 of 8192; "
           "b: node 1, 4096 slots from 4096, role 4096 of 8192");
  CHECK(assigned({slots("a", 4097)}) == "bad_slot_count: a offers 4097 slots");
}

TEST_CASE("rank_assignment: an agent may offer once", "[core]") {
  CHECK(assigned({slots("a", 1), slots("b", 1), slots("a", 2)})
        == "duplicate_agent: a offers twice");
}

TEST_CASE("rank_assignment: a generation has a maximum number of agents",
          "[core]") {
  const auto most = assign_ranks(many(agents_per_generation_max));
  REQUIRE(most);
  CHECK(most->size() == 100'000);
  CHECK(most->back().node_rank == 99'999);
  CHECK(most->back().first_global_rank == 99'999);
  CHECK(most->front().role_world_size == 100'000);
  CHECK(assigned(many(agents_per_generation_max + 1))
        == "too_many_agents: 100001 agents offer their slots");
}

TEST_CASE("rank_assignment: the largest world can be counted", "[core]") {
  auto offers = many(agents_per_generation_max);
  for (auto& x : offers)
    x.slot_count = slots_per_agent_max;
  const auto placements = assign_ranks(offers);
  REQUIRE(placements);
  CHECK(placements->back().first_global_rank == 99'999u * 4096u);
  CHECK(placements->back().role_world_size == 100'000u * 4096u);
}

// The same in the simplest way: one worker after the other.
TEST_CASE("rank_assignment: it agrees with counting one by one", "[core]") {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    auto random = std::mt19937{seed};
    auto offers = std::vector<offer>{};
    for (auto n = random() % 20; n > 0; --n)
      offers.push_back(slots("agent" + std::to_string(n), 1 + random() % 9,
                             std::string(1, char('x' + random() % 3))));
    const auto placements = assign_ranks(offers);
    REQUIRE(placements);
    REQUIRE(placements->size() == offers.size());
    uint32_t global_rank = 0;
    auto role_ranks = std::map<std::string, uint32_t>{};
    for (size_t node = 0; node < offers.size(); ++node) {
      const auto& place = (*placements)[node];
      REQUIRE(place.agent == offers[node].agent);
      REQUIRE(place.node_rank == node);
      REQUIRE(place.slot_count == offers[node].slot_count);
      for (uint32_t i = 0; i < place.slot_count; ++i) {
        REQUIRE(place.first_global_rank + i == global_rank++);
        REQUIRE(place.first_role_rank + i == role_ranks[offers[node].role]++);
      }
    }
    for (size_t node = 0; node < offers.size(); ++node)
      REQUIRE((*placements)[node].role_world_size
              == role_ranks[offers[node].role]);
  }
}

} // namespace actorrun::test::rank_assignment_test
