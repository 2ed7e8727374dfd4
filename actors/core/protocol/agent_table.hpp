// Records a job's agents: what each offers, and what it runs of which generation.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/job_settings.hpp"
#include "actors/core/rare_value.hpp"
#include "actors/core/time.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::core {

/// An operator lets a node leave.
struct drain_order {
  std::string by;
  duration time{0}; ///< That its workers get.
  /// When it leaves at the latest; none: it waits for a replacement.
  std::optional<time_point> due{};
  bool at_safe_point = false; ///< All workers come to one before.
  time_point asked{};
  bool is_notice = false; ///< No operator: its machine is about to go.
};

/// What the coordinator knows of an agent.
struct agent_record {
  offer offering;
  uint64_t arrival = 0;    ///< Order of the first joins, from 1.
  placement place;         ///< In the generation it was last a member of.
  generation_id member_of; ///< That generation; 0 if none.
  generation_id holds; ///< Workers of this generation may run there; 0 if none.
  share_state share = share_state::idle;
  parked_share parked{}; ///< While it holds no generation …
  std::optional<time_point> parked_since{}; ///< … and since when.
  generation_id steps_in; ///< The last in which its workers have safe points.
  generation_id
    ahead_of; ///< Has been asked to start its workers ahead of it, …
  bool is_awaited = false; ///< … and they are not ready yet.
  bool connected = true;
  bool leaving = false;
  /// Its address is only what it says.
  bool is_address_unproved = false;
  /// Another agent has its node rank. It waits until that agent is lost or
  /// excluded.
  bool shadowed = false;
  /// An operator has excluded its host. It stands by.
  bool excluded = false;
  /// It has cost too many generations, and gets no place for a while
  /// (`generation_costs`).
  bool stands_by = false;
  /// The longest that it takes to stop its workers.
  duration stop_limit{0};
  /// It has been ordered to stop those that it holds, and is given up then.
  std::optional<time_point> stop_due{};
  bool given_up = false; ///< Its lease is not renewed any more.
  rare_value<drain_order> drain{};
  rare_value<std::string> gpu_trouble{}; ///< None: none is known.

  /// Its workers have been given notice.
  bool is_draining() const { return drain && drain->due; }

  /// It is to leave when another one can take its place.
  bool waits_to_drain() const { return drain && !drain->due; }

  /// No other agent may have its node rank meanwhile.
  bool has_rank() const { return !shadowed && !excluded; }

  /// It may get a place in the next generation.
  bool is_candidate() const {
    return connected && !leaving && !shadowed && !excluded && !stands_by
           && !is_draining() && offering.unfit.empty();
  }

  /// What an agent says is not believed.
  void set_parked(parked_share x, time_point now);

  /// From the first order on.
  void expect_stop(time_point now) { stop_due = now + stop_limit; }
};

/// An agent that is gone, for operators who still name it.
struct gone_agent {
  agent_id agent;
  std::string host;
  std::string reason; ///< Why it counts as lost, or that it has left.
};

/// Owns the records, the current generation's plan, and counts that are kept up to
/// date, so that decisions need not look at every agent.
///
/// Workers that took part in the newest generation of all that are parked survive.
/// If there are any, one of them gets global rank 0, unless the nodes are ranked.
///
/// All workers connect to the address of node rank 0. So that is a node whose
/// address is proved, if there is one and the nodes are not ranked.
///
/// The agents of the current generation are its members; an agent that may be
/// placed in the next generation is a candidate.
class agent_table {
public:
  struct tally {
    uint32_t candidates = 0;
    uint32_t holding = 0;    ///< May still have workers running.
    uint32_t members = 0;    ///< Members of the current generation …
    uint32_t starting = 0;   ///< … that have not started all their workers,
    uint32_t unfinished = 0; ///< … that have not succeeded yet.
    uint32_t newcomers = 0;  ///< Candidates that are not members.
    /// Members that have not succeeded yet and are draining, …
    uint32_t draining = 0;
    uint32_t excluded = 0; ///< … whose host is excluded, …
    uint32_t unfit = 0;    ///< … or that can take no part.
    uint32_t kept_out = 0; ///< Not members, and can take no part.
  };

  /// @param settings `agent_count_max` and `ranked` count.
  explicit agent_table(const job_settings& settings) : settings_(settings) {}

  /// From now on a generation has at most `agent_count_max` agents.
  void resize(uint32_t agent_count_max) {
    settings_.agent_count_max = agent_count_max;
  }

  const std::map<agent_id, agent_record>& records() const { return records_; }
  const tally& counts() const { return tally_; }

  /// The newest generation, formed here or adopted; 0 before the first.
  generation_id generation() const { return common_.generation; }

  /// What is equal in all plans of the current generation.
  const generation_plan& common_plan() const { return common_; }

  /// The plan of a member of the current generation.
  generation_plan plan_for(const agent_record& x) const;

  bool contains(const agent_id& agent) const {
    return records_.contains(agent);
  }

  /// @returns null if there is no such agent
  agent_record* find(const agent_id& agent);

  /// @returns null if `generation` is over or the agent is not a member of it
  agent_record* find_member(const agent_id& agent, generation_id generation);

  /// Adds an agent. If the nodes are ranked and another agent has its rank, the
  /// new one is shadowed.
  /// @pre `!contains(x.agent)`
  agent_record& add(const offer& x);

  /// Removes an agent, whose rank goes to the longest-waiting agent that was
  /// shadowed by it. Does nothing if there is no such agent.
  void remove(const agent_id& agent, const std::string& reason);

  /// Of the last ones that are gone, the latest with this id or host.
  /// @returns null if there is none
  const gone_agent* find_gone(const std::string& name) const;

  /// Excludes an agent, or includes it again. Without that it has no node rank: one
  /// that waits for its rank gets that, and keeps it.
  void set_excluded(agent_record& x, bool is_excluded);

  /// For people: `node n2`; where its host has several, `agent n2-4711-0bad on n2`.
  std::string title(const agent_record& x) const;

  /// Its workers of the current generation run.
  bool runs_current(const agent_record& x) const {
    return x.member_of == generation() && x.share == share_state::running;
  }

  /// It is a member that has not succeeded.
  bool is_at_work(const agent_record& x) const {
    return x.member_of == generation() && generation().value != 0
           && x.share != share_state::succeeded;
  }

  /// It may leave as another one can take its place, also while too few are here
  /// anyway: it was promised to stay until then.
  bool is_replaced(const agent_record& x, uint32_t agent_count_min) const {
    return !x.is_candidate() || tally_.candidates > agent_count_min;
  }

  /// Whether the job has enough nodes, now and without those of this host.
  bool can_do_without(const std::string& host, uint32_t agent_count_min) const;

  /// Whether a node without a fault waits for a place, beside one for each that drains.
  bool has_sound_newcomer() const;

  /// Changes a record; the counts follow.
  template <class F>
  void change(agent_record& x, F f) {
    count(x, -1);
    f(x);
    count(x, +1);
  }

  // -- generations --------------------------------------------------------------

  /// The newcomers that get a place in the next generation if all members stay.
  std::vector<agent_record*> next_members();

  /// Makes a new generation the current one. Its members start their workers.
  /// @pre there is a candidate, and every offer was checked when it came in
  /// @returns the members' plans by ascending node rank
  std::vector<generation_plan> form(generation_id generation,
                                    uint32_t restart_count);

  /// Makes a generation that another coordinator has formed the current one.
  void adopt(const generation_plan& plan);

  /// Ends the membership of all members of the current generation.
  void dismiss_members();

  /// Whose workers of the current generation may run.
  std::vector<agent_id> busy_members() const;

  /// Marks all agents that may hold workers of the current generation as stopping.
  /// @returns these agents
  std::vector<agent_id> stop_members();

private:
  bool is_returning(const agent_record* x) const;
  std::vector<agent_record*> choose_members();
  void put_first(std::vector<agent_record*>& members,
                 std::vector<agent_record*>::iterator found) const;
  void choose_first(std::vector<agent_record*>& members,
                    generation_id last) const;
  void hand_over_rank(const agent_record& gone);
  bool is_rank_taken(const offer& x) const;
  void count(const agent_record& x, int sign);
  void recount();

  job_settings settings_;
  std::map<agent_id, agent_record> records_;
  std::deque<gone_agent> gone_; ///< The newest at the end.
  tally tally_;
  generation_plan common_; ///< Its `own` means nothing.
  uint64_t arrivals_ = 0;
};

} // namespace actorrun::core
