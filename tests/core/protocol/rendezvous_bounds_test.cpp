// Tests that the others do not wait for what an agent does not do in time, or only
// says.
#include "tests/support/rendezvous_fixture.hpp"

#include <map>
#include <string>

namespace actorrun::test::rendezvous_bounds_test {

using fixture = rendezvous_fixture;

namespace {

/// Half a second after the other goes by, with all that is due then; whoever is
/// linked is heard, but for one.
std::string pass_until(fixture& x, std::chrono::milliseconds& now,
                       std::chrono::milliseconds until,
                       const std::string& silent = {}) {
  auto out = std::string{};
  for (; now <= until; now += 500ms) {
    for (const auto& [id, record] : x.uut.agents())
      if (record.connected && id.value != silent)
        x.at(now, fixture::heard(now, id.value));
    for (const auto& [timer, due] : std::map{x.armed}) {
      if (x.due(timer) > now)
        continue;
      x.armed.erase(timer);
      if (const auto y = x.at(now, fixture::fire(timer)); !y.empty())
        out += (out.empty() ? "" : "; ") + y;
    }
  }
  return out;
}

} // namespace

// -- workers that are not stopped -----------------------------------------------

TEST_CASE_METHOD(
  fixture,
  "rendezvous: S11 an agent that never says that it has stopped is "
  "given up",
  "[core]") {
  auto now = 0ms;
  at(0s, join("a"));
  at(0s, join("b"));
  auto slow = join("c");
  slow.stop_limit = 10s;
  at(0s, slow);
  for (const auto* agent : {"a", "b", "c"})
    at(0s, started(agent, 1));
  at(1s, failed("a", 1));
  at(1s, stopped("a", 1));
  at(1s, stopped("b", 1));
  CHECK(pass_until(*this, now, 10s).find("give_up") == std::string::npos);
  CHECK(pass_until(*this, now, 12s).find("give_up_agent c")
        != std::string::npos);
  CHECK(last<give_up_agent>().reason
        == "has not stopped its workers within 10.0 s");
  CHECK(uut.current_phase() == phase::stopping); // Its lease decides.
  CHECK(at(12s, rejoin("c", plan_of("c"), share_state::stopping))
        == "reject_agent c: worker_unkillable");
  CHECK(
    pass_until(*this, now, 14s, "c").find("announce_generation 2: a=0+1 b=1+1")
    != std::string::npos);
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: S11 an agent that does not say how long it takes has "
  "two minutes, and none has more than an hour",
  "[core]") {
  auto now = 0ms;
  auto limit = 2min;
  SECTION("two minutes") {
    run();
  }
  SECTION("an hour") {
    limit = 60min;
    at(0s, join("a"));
    at(0s, join("b"));
    auto x = join("c");
    x.stop_limit = 24h;
    at(0s, x);
    for (const auto* agent : {"a", "b", "c"})
      at(0s, started(agent, 1));
  }
  at(1s, failed("a", 1));
  at(1s, stopped("a", 1));
  at(1s, stopped("b", 1));
  CHECK(pass_until(*this, now, limit).find("give_up") == std::string::npos);
  CHECK(pass_until(*this, now, limit + 2s).find("give_up_agent c")
        != std::string::npos);
}

TEST_CASE_METHOD(
  fixture,
  "rendezvous: S11 the time for a stop does not run on while the next "
  "generation runs",
  "[core]") {
  auto now = 0ms;
  run();
  at(1s, failed("a", 1));
  for (const auto* agent : {"a", "b", "c"})
    at(1s, stopped(agent, 1));
  for (const auto* agent : {"a", "b", "c"})
    at(1s, started(agent, 2));
  REQUIRE(uut.current_phase() == phase::running);
  CHECK(pass_until(*this, now, 5min).find("give_up") == std::string::npos);
}

// -- workers without a place ----------------------------------------------------

TEST_CASE_METHOD(
  fixture,
  "rendezvous: N14 workers that are parked on a node without a place "
  "end after a minute",
  "[core]") {
  auto now = 0ms;
  run();
  at(1s, exclusion_requested{"node-c", "alice"});
  for (const auto* agent : {"a", "b", "c"}) {
    auto x = stopped(agent, 1);
    x.parked = {{1}, {0}};
    at(1s, x);
  }
  at(1s, started("a", 2));
  at(1s, started("b", 2));
  REQUIRE(uut.current_phase() == phase::running);
  CHECK(pass_until(*this, now, 60s).find("revoke_generation")
        == std::string::npos);
  CHECK(pass_until(*this, now, 62s).find("revoke_generation 1: c")
        != std::string::npos);
  CHECK(pass_until(*this, now, 70s).find("revoke_generation")
        == std::string::npos);
  CHECK(uut.current_phase() == phase::running);
}

// -- node ranks that are taken ----------------------------------------------------

TEST_CASE("rendezvous: N13 who replaces a silent node waits for its rank",
          "[core]") {
  auto x = fixture{{2, 2, 1, true}};
  const auto ranked = [&](const std::string& agent, uint32_t rank) {
    auto out = x.join(agent);
    out.offering.node_rank = rank;
    return out;
  };
  x.at(0s, ranked("a", 0));
  x.at(0s, ranked("b", 1));
  x.at(0s, x.heard(0s, "a"));
  x.at(400ms, x.heard(400ms, "b"));
  SECTION("two intervals without a word are silence") {
    CHECK(x.at(1'000ms, ranked("b2", 1)) == "accept_agent b2");
    CHECK(x.uut.agents().at({"b2"}).shadowed);
    x.at(1'000ms, x.disconnect("b"));
    x.at(1'000ms, x.lose("b"));
    CHECK_FALSE(x.uut.agents().at({"b2"}).shadowed);
  }
  SECTION("less is not") {
    CHECK(x.at(999ms, ranked("b2", 1)) == "reject_agent b2: duplicate_agent");
  }
}

// -- addresses --------------------------------------------------------------------

TEST_CASE_METHOD(
  fixture,
  "rendezvous: S6 a node whose address is only what it says is not "
  "the first",
  "[core]") {
  const auto join_as = [&](const std::string& agent, bool is_unproved) {
    auto x = join(agent);
    x.is_address_unproved = is_unproved;
    return x;
  };
  SECTION("at the beginning") {
    at(0s, join_as("a", true));
    at(0s, join_as("b", false));
    at(0s, join_as("c", false));
    CHECK(transcript(effects)
          == "accept_agent c; announce_generation 1: b=0+1 a=1+1 c=2+1");
    CHECK(announced.master_address == "address-b");
  }
  SECTION("and the others keep their order") {
    at(0s, join_as("a", true));
    at(0s, join_as("b", true));
    at(0s, join_as("c", false));
    CHECK(transcript(effects)
          == "accept_agent c; announce_generation 1: c=0+1 a=1+1 b=2+1");
  }
  SECTION("unless that is true of all") {
    at(0s, join_as("a", true));
    at(0s, join_as("b", true));
    at(0s, join_as("c", true));
    CHECK(announced.master_address == "address-a");
  }
  SECTION("nor because it says that its workers live") {
    at(0s, join_as("a", false));
    at(0s, join_as("b", true));
    at(0s, join_as("c", false));
    at(0s, failed("a", 1));
    at(0s, stopped("a", 1));
    auto liar = stopped("b", 1);
    liar.parked = {{1}, {0}};
    at(0s, liar);
    at(0s, stopped("c", 1));
    CHECK(announced.master_address == "address-a");
    CHECK(plan_of("a").own.node_rank == 0);
  }
  SECTION("among those that live the first is one whose address is proved") {
    at(0s, join_as("a", false));
    at(0s, join_as("b", true));
    at(0s, join_as("c", false));
    at(0s, failed("a", 1));
    at(0s, stopped("a", 1));
    for (const auto* agent : {"b", "c"}) {
      auto x = stopped(agent, 1);
      x.parked = {{1}, {0}};
      at(0s, x);
    }
    CHECK(announced.master_address == "address-c");
  }
}

} // namespace actorrun::test::rendezvous_bounds_test
