// Checks what must be true after every step (docs: the protocol's I1 to I9).
#pragma once

#include "actors/core/protocol/membership.hpp"
#include "actors/core/protocol/rendezvous.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::sim {

/// Whether an agent may have a place in the next generation.
bool may_be_placed(const core::agent_record& x);

/// Sees everything from outside, and remembers the first broken invariant. One
/// number may stand for two generations if a coordinator died and left no trace, so
/// a generation is identified here by its record.
class invariants {
public:
  /// A generation that some coordinator has formed.
  struct generation_record {
    int coordinator = 0; ///< Its number: 1, 2, 3…
    generation_id number;
    std::map<agent_id, core::generation_plan> plans;
    uint32_t running_count = 0; ///< Workers able to run user code.
    /// Of its workers that have safe points, by rank: the next of these.
    std::map<uint32_t, uint64_t> steps{};
  };

  /// @param clocks_agree Without that, numbers need only grow as far as any agent
  ///                     knows them.
  /// @param node_failures_are_free As for `core::rendezvous`.
  explicit invariants(core::job_settings job, bool clocks_agree = true,
                      bool node_failures_are_free = false)
    : job_(job), clocks_agree_(clocks_agree),
      node_failures_are_free_(node_failures_are_free) {}

  const std::optional<std::string>& breach() const { return breach_; }
  void report(const std::string& text);

  /// What happens from now on is not promised, so nothing of it is judged.
  void leave_off() { is_left_off_ = true; }
  bool is_left_off() const { return is_left_off_; }

  /// What an agent brings, from its command line and its machine.
  void enlisted(const core::offer& x) { offers_.emplace(x.agent, x); }

  const core::offer& offer_of(const agent_id& agent) const {
    return offers_.at(agent);
  }

  // -- the coordinators -------------------------------------------------------

  /// @param newest What its predecessor has left.
  void coordinator_began(int coordinator, generation_id newest);

  /// What it knows to have been given; its generations are newer.
  const generation_id& floor_of(int coordinator) const {
    return floors_.at(coordinator);
  }

  /// An agent has joined that has heard of generations up to `newest`.
  void joined(int coordinator, generation_id newest);

  /// @param job As the coordinator's operators have it by now.
  /// @returns false if it was announced before
  bool announced(int coordinator, const core::announce_generation& x,
                 const core::job_settings& job);

  /// What was awaited of this generation's failure has shown that it costs a restart.
  void charged(int coordinator, generation_id generation);

  /// Agents are told of it: what is only decided may be lost with its coordinator, and
  /// its number comes again.
  void came_out(generation_id number);

  /// What an operator was answered.
  void answered(int coordinator, const core::rendezvous_event& event,
                const std::vector<core::rendezvous_effect>& effects,
                core::rendezvous::phase phase_before,
                generation_id generation_before,
                const core::job_settings& before,
                const core::rendezvous& after);

  /// Called around each step of a coordinator.
  void stepped(int coordinator, const core::rendezvous_event& event,
               uint32_t spent_before, generation_id generation_before,
               const core::rendezvous& after);

  /// A coordinator has formed a generation with some members of the last.
  /// @param has_survivors One of them has the first rank, whoever had it.
  void kept_ranks(const std::map<agent_id, uint32_t>& before,
                  const std::map<agent_id, uint32_t>& after,
                  bool has_survivors);

  /// A coordinator that voters have told of the end reports it.
  void ended_before(int coordinator, const core::outcome& result);
  void ended(int coordinator, const core::rendezvous& after,
             const core::outcome& result, core::time_point now);

  /// The failures of a generation have been put in order, with their ages.
  void explained(int coordinator, generation_id generation,
                 const core::worker_failure& first,
                 const std::vector<core::worker_failure>& others,
                 uint32_t unlisted_count, core::time_point now);

  /// All workers of a generation have stopped.
  /// @param is_explained All its failures were put in order.
  void settled(int coordinator, generation_id generation, bool is_explained);

  /// A new agent of this host was accepted.
  void host_came(int coordinator, const std::string& host);
  void check_quarantine(int coordinator, const core::rendezvous& after);

  /// An agent's report on its workers is about to reach a coordinator.
  /// @param sent When the agent sent it.
  void told(int coordinator, const core::rendezvous& before,
            const core::rendezvous_event& event, core::time_point sent,
            core::time_point now);

  // -- the agents -------------------------------------------------------------

  /// The record of the generation that an agent begins.
  generation_record* begun(const core::generation_plan& plan);

  void finished(const agent_id& agent, const core::ending& how);

  /// An agent is told how the job has ended: the same as all others.
  void told_end(const agent_id& agent, const core::outcome& result);

  /// A failure is about to be reported.
  void attributed(const core::worker_failure& failure);

  // -- the workers ------------------------------------------------------------

  void born(generation_record& generation);
  void died(generation_record& generation, int64_t pid, bool ordered);

  /// A worker belongs to no generation any more; then it may end as one.
  void parked(generation_record& generation) { stood_still(generation); }
  void died_parked(int64_t pid, bool ordered);

  /// Another has killed it while it was being stopped: that has caused nothing.
  void killed_in_stop(int64_t pid) { killed_in_stop_.insert(pid); }

  /// A coordinator ends a generation because all its workers wait at this step.
  void came_to_step(generation_id generation, uint64_t step);

  /// A worker begins a generation in this slot.
  /// @param last The generation that it took part in; 0: it was started for this
  /// one.
  void took_part(const core::generation_plan& plan, uint32_t slot,
                 generation_id last);

  /// A worker's machine is suspended; workers of resumed machines run again.
  void stood_still(generation_record& generation);
  void went_on(generation_record& generation);

  /// An agent has learned of a death.
  void seen(int64_t pid, core::time_point when) { seen_.emplace(pid, when); }

  /// This worker fails only because a peer's agent has died.
  void missed_a_peer(int64_t pid) { missed_a_peer_.insert(pid); }

  /// No process of any worker is able to run user code.
  bool quiet() const { return running_.empty(); }

  uint64_t generation_count() const { return generations_.size(); }

  /// The highest number that was ever given.
  generation_id newest() const { return newest_; }

private:
  /// What a coordinator knows of a death, or may know.
  struct known_failure {
    core::worker_failure failure;
    core::duration way{}; ///< From sending to receiving.
  };

  using known_failures = std::vector<known_failure>;

  /// A failure that has ended a generation.
  struct debt {
    uint32_t spent = 0; ///< Restarts before.
    std::set<agent_id> members;
    bool is_exempt = false;
    /// Members whose work was not done at the last look, and those of them
    /// that have gone since.
    std::set<agent_id> working{};
    std::set<agent_id> departed{};
  };

  std::optional<debt> debt_of_recovery(uint32_t spent,
                                       const core::rendezvous& after) const;
  void check_departures(debt& owed, int coordinator,
                        const core::rendezvous& after) const;
  void check_give_up(int coordinator, const core::rendezvous& after,
                     const core::outcome& result);
  bool is_awaited(const core::rendezvous& after, const agent_id& agent) const;
  uint32_t check_deferred(int coordinator, uint32_t spent_before,
                          const core::rendezvous& after);
  void check_phase(const core::rendezvous& after);
  void check_success(int coordinator, generation_id generation);
  void check_paid_once(generation_id generation, uint32_t spent);
  void check_cost(int coordinator, const core::rendezvous_event& event,
                  uint32_t spent_before, generation_id generation_before,
                  const core::rendezvous& after);

  void hear(known_failures& into, const core::worker_failure& failure,
            core::time_point sent, core::time_point now);
  void check_first(int coordinator, generation_id generation,
                   const core::worker_failure& first);
  generation_record* find(const core::generation_plan& plan);
  void check_ranks(const generation_record& generation);
  void check_roles(const generation_record& generation);

  core::job_settings job_;
  bool clocks_agree_;
  bool node_failures_are_free_;
  std::map<int, uint32_t> known_spent_; ///< By coordinator: at its beginning …
  std::map<int, uint32_t> told_spent_;  ///< … and as agents have told it.
  /// Agents of generations that have ended the job with success, as any coordinator
  /// has decided it, and by coordinator who has claimed one before its first
  /// generation.
  std::map<generation_id, std::set<agent_id>> final_generations_;
  std::map<int, std::set<agent_id>> came_done_;
  std::set<int> has_formed_; ///< Coordinators.
  std::optional<std::string> breach_;
  bool is_left_off_ = false;
  std::map<agent_id, core::offer> offers_;
  std::vector<std::unique_ptr<generation_record>> generations_;
  std::set<generation_record*> running_;
  std::map<generation_id, generation_id>
    last_of_survivors_; ///< That they took part in.
  std::map<int, generation_id>
    floors_; ///< By coordinator: its generations are newer.
  /// By coordinator: whose failure was charged after a check.
  std::map<int, generation_id> charged_;
  generation_id newest_; ///< That agents were told of, by any coordinator.
  std::map<int, core::outcome> outcomes_;
  std::optional<core::outcome> told_; ///< Of these, to agents.
  std::set<std::pair<int, generation_id>>
    paid_; ///< Generations that cost a restart.
  /// How many were spent then, with the first one for it by any coordinator.
  std::map<generation_id, uint32_t> paid_to_;
  std::map<int, std::optional<debt>> owed_; ///< By coordinator.
  /// By coordinator: whose failures have yet to show what they cost.
  std::map<int, std::set<agent_id>> deferred_;
  std::map<int, bool> was_stopping_;  ///< Likewise.
  std::map<int, bool> was_gathering_; ///< Likewise.
  std::map<std::pair<int, generation_id>, known_failures> known_failures_;
  std::map<int64_t, core::time_point> seen_; ///< By pid.
  std::set<int64_t> ordered_deaths_;         ///< By pid.
  std::set<int64_t> killed_in_stop_;
  std::set<int64_t> missed_a_peer_; ///< By pid.
  /// Agents that have reported workers that hang.
  std::set<std::pair<int, agent_id>> unkillable_;
  std::map<agent_id, generation_id> begun_;
  std::set<std::pair<int, agent_id>> leaving_; ///< They have said so.
  std::set<std::pair<int, agent_id>> drained_; ///< They were ordered to leave.
  /// In the step that has formed the newest generation, after that.
  std::set<std::pair<int, agent_id>> drained_meanwhile_;
  std::map<int, std::set<std::string>> excluded_; ///< Hosts, by coordinator.
  /// Generations that operators have ended: they cost nothing.
  std::set<std::pair<int, generation_id>> ended_by_operator_;
  /// By coordinator: agents in quarantine, with their hosts.
  std::map<int, std::vector<std::pair<agent_id, std::string>>> quarantined_;
  std::map<int, generation_id> hung_in_; ///< Workers of this generation hang.
  /// All that were ever reported, by coordinator and generation.
  std::map<std::pair<int, generation_id>,
           std::set<std::pair<agent_id, uint32_t>>>
    reported_;
  /// Agents that have reported their success.
  std::map<std::pair<int, generation_id>, std::set<agent_id>> succeeded_;
};

} // namespace actorrun::sim
