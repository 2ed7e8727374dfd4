// Judges when a coordinator acts: neither sooner than the settings allow, nor
// later.
#pragma once

#include "tests/sim/invariants.hpp"

#include <deque>
#include <map>
#include <optional>
#include <vector>

namespace actorrun::sim {

/// Looks at a coordinator after each of its steps. What it compares
/// is what an operator sees: who is here, which phase it is, and for how long.
class punctuality {
public:
  punctuality(const core::job_settings& job, const core::timeouts& limits,
              core::duration lease_max, invariants& checks)
    : job_(job), limits_(limits), lease_max_(lease_max), checks_(checks) {}

  /// @param slack What timers may be late.
  void after(const core::rendezvous& brain, const core::rendezvous_event& event,
             const std::vector<core::rendezvous_effect>& effects,
             core::time_point now, core::duration slack);

private:
  using phase = core::rendezvous::phase;
  using since = std::optional<core::time_point>;

  struct view {
    phase stage = phase::gathering;
    generation_id generation;
    uint32_t candidates = 0;
    uint32_t holding = 0;
    uint32_t members = 0;
    uint32_t unfinished = 0;
    uint32_t planned
      = 0; ///< Nodes of the generation, also those that have gone.
    uint32_t active = 0; ///< Members that start workers, or run them.
    bool is_listening = false;
    uint32_t newcomers = 0;
    bool is_draining = false;      ///< A member that has not succeeded.
    bool is_stepping = false;      ///< Workers have safe points.
    bool is_awaiting = false;      ///< Workers of newcomers have been started.
    std::vector<agent_id> agents;  ///< Sorted, as are those below.
    std::vector<agent_id> working; ///< Members that have not succeeded …
    std::vector<agent_id> ready;   ///< Candidates.

    bool is_active() const {
      return stage == phase::starting || stage == phase::running;
    }
  };

  static view look(const core::rendezvous& brain);
  void see_ends(const std::vector<core::rendezvous_effect>& effects);
  void see_generations(const view& now_is, core::time_point now);
  void check_stand_by(const core::rendezvous& brain, const view& now_is,
                      const core::rendezvous_event& event);
  void check_minimum(const view& now_is, bool is_unmet);
  void check_listening(const core::rendezvous& brain, const view& now_is);
  void check_last_call(const view& now_is);
  void check_regroup(const view& now_is, bool is_for_newcomers);
  void check_close(const view& now_is, bool closes);
  void check_hurry(const core::rendezvous& brain, const view& now_is);
  bool admits(const std::string& reason) const;
  void late(core::time_point due, const char* what);
  void early(core::time_point due, const char* what);
  core::time_point backoff_ends() const { return begun_ + wait_; }

  core::job_settings job_;
  core::timeouts limits_;
  core::duration lease_max_; ///< Of all that the job's coordinators grant.
  invariants& checks_;
  view was_; ///< Before the step.
  view is_;
  core::time_point now_{};
  core::duration slack_{};
  core::time_point last_arrival_{};
  core::time_point enough_at_{}; ///< When the minimum was last met.
  bool has_begun_ = false;
  since listening_since_; ///< For what an earlier coordinator has left.
  since short_since_;     ///< Fewer than the minimum are here.
  since last_call_since_; ///< All else is ready.
  bool is_disturbed_ = false;
  since newcomers_since_; ///< They wait for a place that there is …
  since full_since_;      ///< … and fill all places …
  since awaited_since_;   ///< … and start their workers.
  since ended_at_;
  bool was_over_ = false;      ///< Before this coordinator began.
  core::time_point held_at_{}; ///< When workers of an ended job were last left.
  // How the generations up to now have ended.
  core::time_point begun_{};
  core::duration wait_{}; ///< From `begun_`, that newcomers are kept waiting.
  uint32_t streak_ = 0; ///< Short generations in a row that a departure ended.
  bool has_generation_ = false;
  /// Why the last generation has ended, as far as it is known, and when.
  std::optional<core::end_origin> origin_;
  core::time_point revoked_at_{};
  /// When nodes were lost or cut off, and that has ended a generation.
  std::map<agent_id, std::deque<core::time_point>> losses_;
  /// Since when nodes stand by, and can be reached.
  std::map<agent_id, core::time_point> spares_;
  bool is_for_newcomers_ = false; ///< The last generation was ended for them.
  std::vector<agent_id> members_; ///< Of the last generation; sorted.
};

} // namespace actorrun::sim
