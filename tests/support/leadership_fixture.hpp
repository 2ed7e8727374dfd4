// A candidate in virtual time: facts go in, its orders come out as text.
#pragma once

#include "actors/core/protocol/leadership.hpp"
#include "tests/support/catch.hpp"

#include <cstdlib>
#include <string>
#include <vector>

namespace actorrun::test {

using namespace actorrun::core;
using namespace std::chrono_literals;

/// A candidate with a lease of 15 s and a guard of 0.3 s; `at` returns its
/// orders.
struct leadership_fixture {
  using phase = leadership::phase;

  explicit leadership_fixture(bool is_candidate = true,
                              bool always_campaigns = false,
                              job_settings asked = {})
    : uut{{.is_candidate = is_candidate,
           .always_campaigns = always_campaigns,
           .lease = 15s,
           .guard = 300ms,
           .settings = asked,
           .leeway = 150ms}} {}

  std::string at(std::chrono::milliseconds t, const leadership_event& event) {
    auto trace = std::string{};
    effects = uut.step(event, time_point{t});
    for (const auto& effect : effects) {
      trace += (trace.empty() ? "" : "; ") + to_string(effect);
      if (const auto* timer = std::get_if<arm_timer>(&effect))
        armed = *timer;
      if (const auto* x = std::get_if<report_missing>(&effect))
        missing = x->why.text;
    }
    return trace;
  }

  lease_opened lease(int64_t id, std::chrono::milliseconds sent = 0ms) {
    return {id, 15s, time_point{sent}};
  }

  lease_renewed renewed(std::chrono::milliseconds sent) {
    return {15s, time_point{sent}};
  }

  entry_read entry(int64_t revision, const std::string& endpoint) {
    return {leader_entry{revision, endpoint}};
  }

  registry_failed away() {
    return {{errc::etcd_unreachable, "etcd: no answer in time"}};
  }

  endpoint_gone gone() { return {{errc::coordinator_gone, "it has ended"}}; }

  timer_fired fired() const { return {armed.timer}; }

  // The steps to leadership, all at 0 s; each step includes those before it. A
  // candidate that always campaigns takes them, too.

  /// There is no leader.
  std::string stand() {
    at(0s, candidate_started{});
    if (uut.current_phase() == phase::idle)
      at(0s, coordinator_wanted{});
    return at(0s, entry_read{});
  }

  /// Has lease 7.
  std::string campaign() {
    stand();
    return at(0s, lease(7));
  }

  /// Has the entry, of revision 2.
  std::string win() {
    campaign();
    return at(0s, campaign_won{2, 0});
  }

  /// Has a coordinator at `n1:4000`.
  std::string open() {
    win();
    return at(0s, coordinator_opened{"n1:4000"});
  }

  /// Has published it, in revision 3.
  std::string lead() {
    open();
    const auto trace = at(0s, leadership_published{3});
    REQUIRE(uut.current_phase() == phase::leading);
    return trace;
  }

  /// Is sent to `n2:4000`, of revision 5.
  std::string seek(std::chrono::milliseconds t = 0ms) {
    at(t, coordinator_wanted{});
    return at(t, entry(5, "n2:4000"));
  }

  /// Was accepted there.
  void follow() {
    seek();
    at(0s, endpoint_reached{});
    REQUIRE(uut.current_phase() == phase::idle);
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

  leadership uut;
  std::vector<leadership_effect> effects; ///< Of the latest step.
  arm_timer armed{};
  std::string missing; ///< Why there is no coordinator, as last reported.
};

} // namespace actorrun::test
