// An agent's membership in virtual time: facts go in, its orders come out as
// text.
#pragma once

#include "actors/core/protocol/membership.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/transcript.hpp"

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

namespace actorrun::test {

using namespace actorrun::core;
using namespace std::chrono_literals;

/// The agent `a` with two slots. Its keep-alives go out every 300 ms, its fence
/// falls after 900 ms. Timers expire only where a test fires them.
struct membership_fixture {
  using milliseconds = std::chrono::milliseconds;
  using link = membership::link;

  /// Applies an event; returns the effects, joined by "; ".
  std::string at(milliseconds t, const membership_event& event) {
    effects = uut.step(event, time_point{t});
    for (const auto& x : effects)
      if (const auto* timer = std::get_if<arm_timer>(&x))
        armed[timer->timer.value] = timer->due;
    return transcript(effects);
  }

  /// When a timer is due.
  duration due(uint64_t timer) const {
    return armed.at(timer).time_since_epoch();
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

  /// The due time that the latest step has given the fence.
  duration fence() const { return last<set_fence>().due.time_since_epoch(); }

  // -- events -----------------------------------------------------------------

  static offer offering() {
    auto x = offer{};
    x.agent = {"a"};
    x.host = "node-a";
    x.slot_count = 2;
    x.master_port = 29500;
    return x;
  }

  static generation_plan plan(uint64_t generation) {
    return {.generation = {generation},
            .own = {.agent = {"a"},
                    .node_rank = 0,
                    .slot_count = 2,
                    .first_global_rank = 0,
                    .first_role_rank = 0,
                    .role_world_size = 4},
            .node_count = 2,
            .world_size = 4,
            .master_address = "10.0.0.1",
            .master_port = 29500,
            .restart_count = 0};
  }

  static worker_failure failure_by(failure_kind kind, int code) {
    return {.agent = {"a"},
            .host = "node-a",
            .global_rank = 1,
            .local_rank = 1,
            .pid = 4711,
            .kind = kind,
            .code = code,
            .dumped = false};
  }

  static coordinator_not_found not_found(errc why, milliseconds tried = 0ms) {
    return {{why, "as said"}, time_point{tried}};
  }

  static join_accepted accepted() { return {300ms, 900ms}; }
  static join_accepted accepted_here() { return {0ms, 0ms}; }

  static join_rejected rejected() {
    return {{errc::settings_mismatch, "as said"}};
  }

  static lease_granted granted(milliseconds sent) { return {time_point{sent}}; }

  static generation_formed formed(uint64_t generation) {
    return {plan(generation)};
  }
  static generation_revoked revoked(uint64_t generation) {
    return {{generation}};
  }

  static job_ended ended() {
    return {{.kind = outcome::verdict::succeeded,
             .first_failure = {},
             .signal = 0,
             .reason = "all workers of generation 1 succeeded"}};
  }

  static group_started started(uint64_t generation) {
    auto x = group_started{};
    x.generation = {generation};
    return x;
  }

  static group_failed failed(uint64_t generation,
                             failure_kind kind = failure_kind::exited,
                             int code = 1) {
    return {{generation}, failure_by(kind, code)};
  }

  static group_succeeded succeeded(uint64_t generation) {
    return {{generation}};
  }

  static group_stopped stopped(uint64_t generation, uint16_t port = 0) {
    return {{generation}, port};
  }

  static timer_fired fire(uint64_t timer) { return {{timer}}; }

  // -- ways to a state --------------------------------------------------------

  /// Looks for the coordinator; timer 1 limits that.
  void seek() {
    REQUIRE(at(0s, agent_started{}) == "arm_timer 1; seek_coordinator");
  }

  /// Asks to join; timer 2 limits that.
  void join() {
    seek();
    REQUIRE(at(0s, coordinator_found{}) == "arm_timer 2; send_join");
  }

  /// Has joined; timer 3 is for the next keep-alive, 4 for the fence.
  void be_in() {
    join();
    REQUIRE(at(0s, accepted()) == "arm_timer 3; arm_timer 4");
  }

  /// Runs the workers of a generation.
  void run(uint64_t generation = 1) {
    be_in();
    at(0s, formed(generation));
    at(0s, started(generation));
    REQUIRE(uut.share() == share_state::running);
  }

  /// Has lost its link while workers run; timer 5 limits the search, 6 is for
  /// the next try.
  void run_alone() {
    run();
    REQUIRE(at(0s, coordinator_disconnected{}) == "arm_timer 5; arm_timer 6");
  }

  /// Has found a coordinator again while workers run; timer 7 limits the
  /// answer.
  void come_back() {
    run_alone();
    REQUIRE(at(0s, coordinator_found{}) == "arm_timer 7; send_join 1 running");
  }

  membership uut{offering(), timeouts{}};
  std::vector<membership_effect> effects; ///< Of the latest step.
  std::map<uint64_t, time_point> armed;
};

} // namespace actorrun::test
