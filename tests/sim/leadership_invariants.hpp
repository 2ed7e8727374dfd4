// Checks what one candidate for the leadership orders, against what it was told.
#pragma once

#include "actors/core/protocol/leadership.hpp"
#include "tests/sim/registry.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::sim {

/// Knows a candidate by its events and orders alone. Of etcd it knows the truth.
class leadership_invariants {
public:
  leadership_invariants(core::leadership_options options,
                        const registry& registry)
    : options_(options), registry_(registry) {}

  /// @pre called for every event, before its effects are obeyed
  /// @returns what is wrong, if anything is: "asks etcd without need"
  std::optional<std::string>
  observe(const core::leadership_event& event, core::leadership::phase before,
          const std::vector<core::leadership_effect>& effects,
          core::leadership::phase after, core::time_point now);

  /// Its agent waits for an answer.
  bool is_searching() const { return is_searching_; }
  /// A coordinator of this job has served its agent.
  bool was_member() const { return was_member_; }
  /// Until when its coordinator may decide.
  core::time_point leadership_end() const { return leadership_end_; }

private:
  using phase = core::leadership::phase;

  void learn(const core::leadership_event& event, phase before);
  void forget_job(const core::job_mark& job);
  void check(const core::leadership_event& event,
             const core::leadership_effect& effect, core::time_point now);
  void check_request(const core::leadership_event& event,
                     const core::leadership_effect& effect,
                     core::time_point now);
  core::time_point
  end_of(const std::pair<const int64_t, core::time_point>& lease) const;
  void check_term(core::time_point due, core::time_point now);
  void check_timer(const core::leadership_event& event, core::time_point due,
                   core::time_point now);
  void check_gone(const std::vector<core::leadership_effect>& effects);
  void check_outage(const core::leadership_event& event,
                    const std::vector<core::leadership_effect>& effects);
  void check_state(const core::leadership_event& event, phase after,
                   core::time_point now);
  void report(std::string what);

  core::leadership_options options_;
  const registry& registry_;
  std::optional<std::string> wrong_;

  bool is_retired_ = false;
  bool is_searching_ = false;
  bool was_member_ = false;
  bool has_seen_coordinator_ = false; ///< Of this job; perhaps its own.
  bool is_asking_ = false;            ///< A request to etcd is under way.
  bool says_away_ = false;            ///< That etcd is, in its log.
  bool must_leave_ = false;           ///< What it has just heard ends its term.

  std::optional<core::leader_entry> read_; ///< Last, if etcd answered.
  std::optional<core::leader_entry> tried_;
  std::optional<core::leader_entry> known_; ///< Where it was served.

  /// Leases that it holds, and when they end if they are not renewed.
  std::map<int64_t, core::time_point> held_;
  core::time_point granted_{}; ///< When the last grant was asked for …
  core::duration length_{};    ///< … and for how long it was.
  int64_t revision_ = 0;       ///< Of its own entry.
  bool is_open_ = false;       ///< Its coordinator.
  core::time_point leadership_end_{};
};

} // namespace actorrun::sim
