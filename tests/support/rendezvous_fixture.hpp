// A rendezvous in virtual time: facts go in, its orders come out as text.
#pragma once

#include "actors/core/protocol/rendezvous.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::test {

using namespace actorrun::core;
using namespace std::chrono_literals;

/// Two to three agents and one restart, unless a test changes that. Timers
/// expire only where a test fires them.
struct rendezvous_fixture {
  using milliseconds = std::chrono::milliseconds;
  using phase = rendezvous::phase;

  explicit rendezvous_fixture(job_settings asked = {2, 3, 1},
                              timeouts limits = {})
    : settings{asked}, uut{asked, limits} {}

  /// Another one takes the place of this one.
  void replace(const job_settings& asked, uint32_t exclude_after,
               bool node_failures_are_free = false) {
    std::destroy_at(&uut);
    std::construct_at(&uut, asked, timeouts{}, exclude_after,
                      node_failures_are_free);
  }

  /// Applies an event; returns the effects, joined by "; ".
  std::string at(milliseconds t, const rendezvous_event& event) {
    effects = uut.step(event, time_point{t});
    for (const auto& x : effects) {
      if (const auto* timer = std::get_if<arm_timer>(&x))
        armed[timer->timer.value] = timer->due;
      if (const auto* generation = std::get_if<announce_generation>(&x))
        announced = generation->plans.front();
    }
    return transcript(effects);
  }

  /// When a timer is due.
  milliseconds due(uint64_t timer) const {
    return std::chrono::duration_cast<milliseconds>(
      armed.at(timer).time_since_epoch());
  }

  /// The first effect of its kind in the latest step.
  template <class Effect>
  const Effect& last() const {
    for (const auto& x : effects)
      if (const auto* found = std::get_if<Effect>(&x))
        return *found;
    FAIL("the latest step has no such effect");
    std::abort();
  }

  // -- events -----------------------------------------------------------------

  /// From host `node-<agent>`, port 29500.
  agent_joined join(const std::string& agent, uint32_t slot_count = 1) const {
    auto x = agent_joined{};
    x.settings = settings;
    x.offering.agent = {agent};
    x.offering.host = "node-" + agent;
    x.offering.address = "address-" + agent;
    x.offering.slot_count = slot_count;
    x.offering.master_port = 29500;
    return x;
  }

  /// Of an agent in the coordinator's process.
  agent_joined join_here(const std::string& agent) const {
    auto x = join(agent);
    x.offering.leased = false;
    return x;
  }

  /// Of an agent that comes back.
  agent_joined rejoin(const std::string& agent, generation_plan plan,
                      share_state state) const {
    auto x = join(agent, plan.own.slot_count);
    x.held = claim{std::move(plan), state, {}};
    if (state == share_state::failed)
      x.held->failure = failure_of(agent);
    return x;
  }

  /// A keep-alive that the lease desk has answered.
  static leases_renewed heard(milliseconds t, const std::string& agent) {
    return {{{{agent}, time_point{t}}}};
  }

  static agent_disconnected disconnect(const std::string& agent) {
    return {{agent}};
  }

  static agent_lost lose(const std::string& agent) {
    return {{agent}, "connection refused"};
  }

  static agent_leaving leaving(const std::string& agent, int signal = 0) {
    return {{agent}, signal};
  }

  static agent_left left(const std::string& agent) { return {{agent}}; }

  static workers_started started(const std::string& agent,
                                 uint64_t generation) {
    return {{agent}, {generation}};
  }

  static worker_failure failure_of(const std::string& agent) {
    return {.agent = {agent},
            .host = "node-" + agent,
            .global_rank = 1,
            .local_rank = 0,
            .pid = 4711,
            .kind = failure_kind::exited,
            .code = 7,
            .dumped = false};
  }

  static worker_failed failed(const std::string& agent, uint64_t generation) {
    return {{agent}, {generation}, failure_of(agent)};
  }

  static workers_succeeded succeeded(const std::string& agent,
                                     uint64_t generation) {
    return {{agent}, {generation}};
  }

  static workers_stopped stopped(const std::string& agent, uint64_t generation,
                                 uint16_t port = 0) {
    return {{agent}, {generation}, port};
  }

  static timer_fired fire(uint64_t timer) { return {{timer}}; }

  /// The plan of a member of the current generation, as it was announced.
  generation_plan plan_of(const std::string& agent) const {
    auto plan = announced;
    plan.own = uut.agents().at({agent}).place;
    return plan;
  }

  // -- ways to a state --------------------------------------------------------

  /// Generation 1 of `a`, `b` and `c`, workers starting; timers 1 to 4 are armed.
  void start() {
    at(0s, join("a"));
    at(0s, join("b"));
    REQUIRE(
      at(0s, join("c")).ends_with("announce_generation 1: a=0+1 b=1+1 c=2+1"));
  }

  /// The same, workers running.
  void run() {
    start();
    for (const auto* agent : {"a", "b", "c"})
      at(0s, started(agent, 1));
    REQUIRE(uut.current_phase() == phase::running);
  }

  /// Generation 1 of `a` and `b`, workers running; there is room for one more.
  void run_two() {
    at(0s, join("a"));
    at(0s, join("b"));
    REQUIRE(at(3s, fire(4)) == "announce_generation 1: a=0+1 b=1+1");
    at(3s, started("a", 1));
    at(3s, started("b", 1));
    REQUIRE(uut.current_phase() == phase::running);
  }

  /// The same as `run`, workers stopping.
  void revoke() {
    run();
    REQUIRE(at(0s, failed("b", 1)) == "revoke_generation 1: a b c");
  }

  job_settings settings;
  rendezvous uut;
  std::vector<rendezvous_effect> effects; ///< Of the latest step.
  std::map<uint64_t, time_point> armed;
  generation_plan announced; ///< The first of the latest plans.
};

} // namespace actorrun::test
