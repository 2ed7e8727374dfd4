#include "actors/core/protocol/stand_by.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::stand_by_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

struct fixture {
  agent_table agents{job_settings{}};
  generation_costs costs{1s, 60s, 0};

  stand_by at(duration t, uint32_t count_min = 1) {
    return {agents, costs, count_min, time_point{t}};
  }

  void add(const std::string& name) {
    auto x = offer{};
    x.agent = {name};
    x.host = name + "-host";
    x.slot_count = 1;
    agents.add(x);
    costs.node_is_here(x.agent, x.host, time_point{});
  }

  /// Costs a third generation within the window.
  std::optional<report_stand_by> charge_thrice(uint32_t count_min = 1) {
    auto out = std::optional<report_stand_by>{};
    for (const auto t : {1s, 2s, 3s})
      out = at(t, count_min).charge({"a"}, time_point{t}, "lost");
    return out;
  }

  bool stands_by() { return agents.find({"a"})->stands_by; }
};

} // namespace

TEST_CASE_METHOD(fixture, "stand_by: the third cost is one too many",
                 "[core]") {
  add("a");
  add("b");
  CHECK_FALSE(at(1s).charge({"a"}, time_point{1s}, "lost"));
  CHECK_FALSE(at(2s).charge({"a"}, time_point{2s}, "lost"));
  const auto news = at(3s).charge({"a"}, time_point{3s}, "lost");
  REQUIRE(news);
  CHECK(news->agent == agent_id{"a"});
  CHECK(stands_by());
}

TEST_CASE_METHOD(fixture, "stand_by: a node that is needed does not",
                 "[core]") {
  add("a");
  CHECK_FALSE(charge_thrice());
  CHECK_FALSE(stands_by());
}

TEST_CASE_METHOD(fixture, "stand_by: one that has too few others is let in",
                 "[core]") {
  add("a");
  add("b");
  REQUIRE(charge_thrice());
  CHECK(at(4s).let_in_for_minimum().empty());
  agents.remove({"b"}, "lost");
  CHECK(at(4s).let_in_for_minimum().size() == 1);
  CHECK_FALSE(stands_by());
}

TEST_CASE_METHOD(fixture, "stand_by: one that stays reachable is let in",
                 "[core]") {
  add("a");
  add("b");
  REQUIRE(charge_thrice());
  const auto due = costs.next_due();
  REQUIRE(due);
  CHECK(at(due->time_since_epoch() - 1ns).let_in_those_due().empty());
  CHECK(at(due->time_since_epoch()).let_in_those_due().size() == 1);
  CHECK_FALSE(stands_by());
}

TEST_CASE_METHOD(fixture, "stand_by: an agent that is not known costs nothing",
                 "[core]") {
  CHECK_FALSE(at(1s).charge({"a"}, time_point{1s}, "lost"));
}

} // namespace actorrun::test::stand_by_test
