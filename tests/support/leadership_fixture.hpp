// A candidate in virtual time: facts go in, its orders come out as text.
#pragma once

#include "actorrun/actors/core/leadership.hpp"

#include <catch2/catch.hpp>

#include <string>

namespace actorrun::test {

using namespace actorrun::core;
using namespace std::chrono_literals;

/// A candidate with a lease of 15 s and a guard of 0.3 s; `at` returns what it
/// asked for.
struct leadership_fixture {
  using phase = leadership::phase;

  explicit leadership_fixture(bool is_candidate = true,
                              bool is_standing = false)
    : uut{{.is_candidate = is_candidate,
           .is_standing = is_standing,
           .lease = 15s,
           .guard = 300ms}} {}

  std::string at(std::chrono::milliseconds t, const leadership_event& event) {
    auto trace = std::string{};
    for (const auto& effect : uut.step(event, time_point{t})) {
      trace += (trace.empty() ? "" : "; ") + to_string(effect);
      if (const auto* timer = std::get_if<arm_timer>(&effect))
        armed = *timer;
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
    return {office_entry{revision, endpoint}};
  }

  registry_failed away() {
    return {{errc::etcd_unreachable, "etcd: no answer in time"}};
  }

  endpoint_refused refused() {
    return {{errc::connection_refused, "nobody listens there"}};
  }

  timer_fired fired() const { return {armed.timer}; }

  /// Gets the office at 0 s, with lease 7 and, in the end, revision 3.
  void lead() {
    at(0s, coordinator_wanted{});
    at(0s, entry_read{});
    at(0s, lease(7));
    at(0s, campaign_won{2, false});
    at(0s, office_opened{"n1:4000"});
    at(0s, office_published{3});
    REQUIRE(uut.current_phase() == phase::leading);
  }

  /// Has been let in at `n2:4000`, of revision 5.
  void follow() {
    at(0s, coordinator_wanted{});
    at(0s, entry(5, "n2:4000"));
    at(0s, endpoint_reached{});
    REQUIRE(uut.current_phase() == phase::idle);
  }

  leadership uut;
  arm_timer armed{};
};

} // namespace actorrun::test
