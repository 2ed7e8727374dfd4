// Tests majorities, the choice of voters and their order.
#include "actors/core/succession/voter_set.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::voter_set_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using agents = std::vector<agent_id>;

const auto a = agent_id{"a"};
const auto a2 = agent_id{"a2"};
const auto b = agent_id{"b"};
const auto b2 = agent_id{"b2"};
const auto c = agent_id{"c"};
const auto d = agent_id{"d"};
const auto e = agent_id{"e"};
const auto f = agent_id{"f"};
const auto v = agent_id{"v"};
const auto w = agent_id{"w"};

voter_candidate on(const std::string& host, const agent_id& name,
                   const std::string& zone = "", bool is_witness = false) {
  return {name, host, zone, is_witness};
}

} // namespace

TEST_CASE("voter set: a majority is more than half", "[core]") {
  const auto uut = voter_set{{a, b, c}};
  CHECK(uut.has_majority({a, c}));
  CHECK_FALSE(uut.has_majority({a, w, v}));
  CHECK_FALSE(voter_set{{a, b}}.has_majority({a}));
  CHECK_FALSE(voter_set{}.has_majority({a}));
}

TEST_CASE("voter set: while voters change, each set needs a majority",
          "[core]") {
  const auto uut = voter_set{{a, b, c}}.changing_to({c, d, e});
  CHECK(uut.is_changing());
  CHECK(uut.all() == agents{c, d, e, a, b});
  CHECK(uut.contains(a));
  CHECK(uut.contains(e));
  CHECK_FALSE(uut.contains(f));
  CHECK_FALSE(uut.has_majority({a, b, c}));
  CHECK_FALSE(uut.has_majority({c, d, e}));
  CHECK(uut.has_majority({a, c, d}));
  CHECK_FALSE(uut.changed().is_changing());
  CHECK(uut.changed().newest() == agents{c, d, e});
}

TEST_CASE("voter set: the time of a majority is that of its slowest voter",
          "[core]") {
  const auto uut = voter_set{{a, b, c}};
  const auto t = [](int x) { return time_point{std::chrono::seconds{x}}; };
  CHECK(uut.majority_time({{a, t(5)}}, {}) == std::nullopt);
  CHECK(uut.majority_time({{a, t(5)}, {b, t(3)}}, {}) == t(3));
  CHECK(uut.majority_time({{a, t(5)}, {b, t(3)}, {c, t(4)}}, {}) == t(4));
  CHECK(uut.majority_time({{a, t(5)}, {w, t(9)}}, {b}) == t(5));
  CHECK(uut.majority_time({}, {a, b}) == time_point::max());
}

TEST_CASE("voters: the one where nodes look for the job votes", "[core]") {
  auto all = std::vector<voter_candidate>{on("1", a), on("2", b), on("3", c),
                                          on("4", d), on("5", e), on("6", f)};
  const auto current = agents{a, b, c, d, e};
  CHECK(choose_voters(all, a, current) == current);
  all.back().is_home = true;
  CHECK(choose_voters(all, a, current) == agents{a, b, c, d, f});
  CHECK(choose_voters(all, e, current) == agents{a, b, c, e, f});
}

TEST_CASE("voters: as many as hosts allow, on different hosts", "[core]") {
  auto all = std::vector<voter_candidate>{};
  const auto chosen = [&] { return choose_voters(all, a, {}); };
  all.push_back(on("1", a));
  CHECK(chosen() == agents{a});
  all.push_back(on("2", b));
  CHECK(chosen() == agents{a});
  all.push_back(on("2", b2));
  CHECK(chosen() == agents{a});
  all.push_back(on("3", c));
  CHECK(chosen() == agents{a, b, c});
  all.push_back(on("4", d));
  CHECK(chosen() == agents{a, b, c});
  all.push_back(on("5", e));
  CHECK(chosen() == agents{a, b, c, d, e});
}

TEST_CASE("voters: the leader, witnesses, those who vote already", "[core]") {
  const auto all
    = std::vector{on("1", a), on("2", b), on("3", c), on("4", d, "", true)};
  CHECK(choose_voters(all, c, {b, c}) == agents{b, c, d});
  CHECK(choose_voters(all, a, {c}) == agents{a, c, d});
}

TEST_CASE("voters: different zones, as far as there are some", "[core]") {
  auto all = std::vector{on("1", a, "x"), on("2", b, "x"), on("3", c, "y"),
                         on("4", d, "z")};
  CHECK(choose_voters(all, a, {}) == agents{a, c, d});
  all[3].zone = "y";
  CHECK(choose_voters(all, a, {}) == agents{a, b, c});
}

TEST_CASE("order: the leader, other voters, a deputy on another host",
          "[core]") {
  const auto all
    = std::vector{on("1", a), on("1", a2), on("2", b), on("3", c), on("4", d)};
  const auto voters = voter_set{{a, b, c}};
  CHECK(order_of(voters, b, all) == agents{b, a, c, d});
  CHECK(order_of(voter_set{{a}}, a, {all[0], all[1]}) == agents{a, a2});
  CHECK(order_of(voter_set{{a}}, a, {all[0]}) == agents{a});
}

TEST_CASE("endpoints: of those in the order, as they are told, or were before",
          "[core]") {
  auto here = std::vector{on("1", a), on("2", b), on("3", c)};
  here[0].endpoint = "10.0.0.1:41000";
  here[2].endpoint = "10.0.0.3:41000";
  const auto before
    = endpoint_list{{a, "10.0.0.1:1"}, {b, "10.0.0.2:1"}, {d, "10.0.0.4:1"}};
  CHECK(endpoints_of({a, b, d}, here, before)
        == endpoint_list{
          {a, "10.0.0.1:41000"}, {b, "10.0.0.2:1"}, {d, "10.0.0.4:1"}});
}

TEST_CASE("voters: people name them by host, address or agent", "[core]") {
  const auto who = agent_id{"n2-gpu-4711-ab12"};
  const auto known = endpoint_list{
    {who, "10.0.0.2:41000"}, {a, "[fd00::1]:41000"}, {b, "no address"}};
  CHECK(is_at(who, known, "n2-gpu"));
  CHECK(is_at(who, known, "10.0.0.2"));
  CHECK(is_at(who, known, "n2-gpu-4711-ab12"));
  CHECK(is_at(a, known, "fd00::1"));
  for (const auto* name : {"", "n2", "n2-gpu-4711", "10.0.0.20", "gpu"})
    CHECK_FALSE(is_at(who, known, name));
  CHECK_FALSE(is_at(c, known, "10.0.0.2"));
}

} // namespace actorrun::test::voter_set_test
