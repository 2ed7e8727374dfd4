#include "actors/core/protocol/agent_table.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::agent_table_test {

using namespace actorrun::core;

namespace {

offer offer_of(const std::string& agent, std::optional<uint32_t> rank = {}) {
  auto x = offer{};
  x.agent = {agent};
  x.host = "node-" + agent;
  x.address = "address-" + agent;
  x.slot_count = 2;
  x.master_port = 29500;
  x.node_rank = rank;
  return x;
}

std::string members(const std::vector<generation_plan>& plans) {
  auto text = std::string{};
  for (const auto& x : plans)
    text += (text.empty() ? "" : " ") + x.own.agent.value + "="
            + std::to_string(x.own.first_global_rank);
  return text;
}

/// Room for two agents.
struct fixture {
  agent_table uut{{.agent_count_min = 1, .agent_count_max = 2}};
};

} // namespace

TEST_CASE_METHOD(fixture, "agent_table: a new agent is a candidate", "[core]") {
  uut.add(offer_of("a"));
  CHECK(uut.counts().candidates == 1);
  CHECK(uut.counts().newcomers == 1);
  CHECK(uut.counts().members == 0);
  CHECK(uut.contains({"a"}));
  CHECK(uut.find({"b"}) == nullptr);
}

TEST_CASE("agent_table: a newcomer takes the rank of a member that is gone",
          "[core]") {
  auto uut = agent_table{{.agent_count_min = 1, .agent_count_max = 8}};
  for (const auto* name : {"a", "b", "c", "d"})
    uut.add(offer_of(name));
  CHECK(members(uut.form({1}, 0)) == "a=0 b=2 c=4 d=6");
  SECTION("one for one") {
    uut.remove({"b"}, "gone");
    uut.add(offer_of("z"));
    CHECK(members(uut.form({2}, 0)) == "a=0 z=2 c=4 d=6");
  }
  SECTION("for the first") {
    uut.remove({"a"}, "gone");
    uut.add(offer_of("z"));
    CHECK(members(uut.form({2}, 0)) == "z=0 b=2 c=4 d=6");
  }
  SECTION("more than are gone: the others follow") {
    uut.remove({"c"}, "gone");
    for (const auto* name : {"z", "y", "x"})
      uut.add(offer_of(name));
    CHECK(members(uut.form({2}, 0)) == "a=0 b=2 x=4 d=6 y=8 z=10");
  }
  SECTION("fewer than are gone: the members close the gap in their order") {
    uut.remove({"b"}, "gone");
    uut.remove({"c"}, "gone");
    uut.add(offer_of("z"));
    CHECK(members(uut.form({2}, 0)) == "a=0 z=2 d=4");
  }
  SECTION("none") {
    uut.remove({"a"}, "gone");
    uut.remove({"c"}, "gone");
    CHECK(members(uut.form({2}, 0)) == "b=0 d=2");
  }
}

TEST_CASE_METHOD(fixture, "agent_table: members start and hold workers",
                 "[core]") {
  uut.add(offer_of("b"));
  uut.add(offer_of("a"));
  CHECK(members(uut.form({1}, 3)) == "a=0 b=2");
  CHECK(uut.generation() == generation_id{1});
  CHECK(uut.common_plan().world_size == 4);
  CHECK(uut.common_plan().master_address == "address-a");
  CHECK(uut.common_plan().restart_count == 3);
  CHECK(uut.counts().members == 2);
  CHECK(uut.counts().holding == 2);
  CHECK(uut.counts().starting == 2);
  CHECK(uut.counts().unfinished == 2);
  CHECK(uut.counts().newcomers == 0);
  CHECK(uut.plan_for(*uut.find({"b"})).own.node_rank == 1);
}

TEST_CASE_METHOD(fixture, "agent_table: members keep their places and ranks",
                 "[core]") {
  uut.add(offer_of("b"));
  uut.add(offer_of("c"));
  uut.form({1}, 0);
  uut.add(offer_of("a"));
  CHECK(members(uut.form({2}, 0)) == "b=0 c=2");
  CHECK(uut.counts().newcomers == 1);
  uut.remove({"b"}, "gone");
  CHECK(members(uut.form({3}, 0)) == "a=0 c=2");
}

TEST_CASE_METHOD(
  fixture, "agent_table: one that has missed a generation has no place kept",
  "[core]") {
  for (const auto* name : {"a", "b", "c"})
    uut.add(offer_of(name));
  REQUIRE(members(uut.form({1}, 0)) == "a=0 b=2");
  uut.change(*uut.find({"a"}), [](auto& x) { x.connected = false; });
  REQUIRE(members(uut.form({2}, 0)) == "c=0 b=2");
  uut.change(*uut.find({"a"}), [](auto& x) { x.connected = true; });
  CHECK(members(uut.form({3}, 0)) == "c=0 b=2");
}

TEST_CASE_METHOD(fixture,
                 "agent_table: only members of the current generation are "
                 "found",
                 "[core]") {
  uut.add(offer_of("a"));
  uut.form({1}, 0);
  CHECK(uut.find_member({"a"}, {1}) != nullptr);
  CHECK(uut.find_member({"a"}, {2}) == nullptr);
  uut.add(offer_of("b"));
  CHECK(uut.find_member({"b"}, {1}) == nullptr);
  uut.form({2}, 0);
  CHECK(uut.find_member({"a"}, {1}) == nullptr);
}

TEST_CASE_METHOD(fixture, "agent_table: counts follow every change", "[core]") {
  auto& a = uut.add(offer_of("a"));
  uut.form({1}, 0);
  uut.change(a, [](auto& x) { x.share = share_state::succeeded; });
  CHECK(uut.counts().starting == 0);
  CHECK(uut.counts().unfinished == 0);
  uut.change(a, [](auto& x) { x.connected = false; });
  CHECK(uut.counts().candidates == 0);
  CHECK(uut.counts().members == 1);
  uut.remove({"a"}, "gone");
  uut.remove({"a"}, "gone");
  CHECK(uut.counts().members == 0);
  CHECK(uut.counts().holding == 0);
}

TEST_CASE_METHOD(fixture,
                 "agent_table: only holders of the generation are stopped",
                 "[core]") {
  uut.add(offer_of("a"));
  uut.add(offer_of("b"));
  uut.form({1}, 0);
  uut.change(*uut.find({"b"}), [](auto& x) { x.holds = {}; });
  CHECK(uut.stop_members() == std::vector<agent_id>{{"a"}});
  CHECK(uut.find({"a"})->share == share_state::stopping);
  CHECK(uut.find({"b"})->share == share_state::starting);
}

TEST_CASE_METHOD(fixture, "agent_table: dismissed members are candidates still",
                 "[core]") {
  uut.add(offer_of("a"));
  uut.form({1}, 0);
  uut.dismiss_members();
  CHECK(uut.counts().members == 0);
  CHECK(uut.counts().newcomers == 1);
  CHECK(uut.counts().holding == 1);
  CHECK(uut.counts().starting == 0); // Only members count as starting.
}

TEST_CASE_METHOD(fixture,
                 "agent_table: newcomers are ranked by their hosts, whatever "
                 "the agents are called",
                 "[core]") {
  auto x = offer_of("a");
  x.host = "node-2";
  auto y = offer_of("b");
  y.host = "node-1";
  uut.add(x);
  uut.add(y);
  CHECK(members(uut.form({1}, 0)) == "b=0 a=2");
}

TEST_CASE("agent_table: a free rank goes to the agent that has waited longest",
          "[core]") {
  auto uut
    = agent_table{{.agent_count_min = 2, .agent_count_max = 2, .ranked = true}};
  uut.add(offer_of("a", 0));
  uut.add(offer_of("c", 0));
  uut.add(offer_of("b", 0));
  uut.add(offer_of("d", 1));
  CHECK(uut.find({"c"})->shadowed);
  CHECK(uut.find({"b"})->shadowed);
  CHECK(uut.counts().candidates == 2);
  uut.remove({"a"}, "gone");
  CHECK_FALSE(uut.find({"c"})->shadowed);
  CHECK(uut.find({"b"})->shadowed);
  CHECK(members(uut.form({1}, 0)) == "c=0 d=2");
}

TEST_CASE("agent_table: the first that waits for a rank gets it, whatever its "
          "name",
          "[core]") {
  auto uut
    = agent_table{{.agent_count_min = 2, .agent_count_max = 2, .ranked = true}};
  for (const auto* name : {"a", "b", "c"})
    uut.add(offer_of(name, 0));
  SECTION("when its owner goes") {
    uut.remove({"a"}, "gone");
    CHECK_FALSE(uut.find({"b"})->shadowed);
    CHECK(uut.find({"c"})->shadowed);
  }
  SECTION("and not when another that waits goes") {
    uut.remove({"b"}, "gone");
    CHECK(uut.find({"c"})->shadowed);
  }
  SECTION("and not when the owner of another rank goes") {
    uut.add(offer_of("d", 1));
    uut.remove({"d"}, "gone");
    CHECK(uut.find({"b"})->shadowed);
    CHECK(uut.find({"c"})->shadowed);
  }
}

TEST_CASE("agent_table: an excluded agent has no rank while another wants it",
          "[core]") {
  auto uut
    = agent_table{{.agent_count_min = 1, .agent_count_max = 1, .ranked = true}};
  for (const auto* name : {"a", "b", "c"})
    uut.add(offer_of(name, 0));
  uut.set_excluded(*uut.find({"b"}), true);
  uut.set_excluded(*uut.find({"a"}), true);
  CHECK_FALSE(uut.find({"c"})->shadowed);
  CHECK(uut.counts().candidates == 1);
  uut.set_excluded(*uut.find({"a"}), false);
  CHECK(uut.find({"a"})->shadowed);
  uut.remove({"c"}, "gone");
  CHECK(uut.find({"a"})->has_rank());
  uut.set_excluded(*uut.find({"b"}), false);
  CHECK(uut.find({"b"})->shadowed);
  CHECK(uut.counts().candidates == 1);
}

} // namespace actorrun::test::agent_table_test
