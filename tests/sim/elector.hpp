// Simulates what lets a node host the coordinator, if its peers elect it: what
// voter_leadership and voter_host are in the real system.
#pragma once

#include "actors/core/succession/questions.hpp"
#include "actors/core/succession/succession.hpp"
#include "tests/sim/os_process.hpp"
#include "tests/sim/succession_invariants.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <variant>
#include <vector>

namespace actorrun::sim {

class agent;
class cluster;
class coordinator;

/// Where is the coordinator? …
struct leader_question {};

/// … With this leader; 0: ask there for its number.
struct leader_answer {
  agent_id leader;
  int coordinator = 0;
};

using elector_message
  = std::variant<core::succession_message, leader_question, leader_answer>;

class elector {
public:
  /// @param contacts Where it looks for the job at first.
  elector(cluster& all, std::shared_ptr<os_process> process, agent& who,
          std::set<agent_id> contacts);

  /// It begins the job.
  void found();

  /// The agent wants to be linked to the coordinator, …
  void seek();
  /// … or to know of another one than it is linked to.
  void seek_second_way();

  /// What became of the attempt at this coordinator.
  /// @returns whether it is still wanted
  bool on_reached(int coordinator);
  void on_missed(int coordinator, const failure& why);

  // -- what others say ----------------------------------------------------------

  void hear(const agent_id& from, const elector_message& what);
  void on_broken(const agent_id& to);
  void on_examined(const agent_id& who, std::optional<core::tombstone> proof);
  /// A coordinator has told the agent who votes.
  void know(const std::vector<agent_id>& voters);

  // -- what is hosted here ------------------------------------------------------

  void propose(const coordinator& from, const core::charter& job,
               uint64_t change);
  void hand_over(core::hand_over_requested order);
  void resign(bool job_over);
  bool may_decide() const;

  coordinator* hosted() const { return hosted_; }
  agent& owner() const { return who_; }
  const core::succession& brain() const { return brain_; }
  const voter_facts& facts() const { return facts_; }
  /// How long ago a majority has confirmed that it leads.
  core::duration age() const {
    return std::max<core::duration>(now() - brain_.confirmed(), {});
  }
  /// Those of which it knows: it asks them where the coordinator is.
  std::set<agent_id> known() const;

  /// Its process ends in the midst of its orders, after so many.
  void die_after(uint64_t orders) { orders_left_ = orders; }
  /// The same, when it next changes what its machine keeps.
  void die_keeping() { dies_keeping_ = true; }

  /// A machine has said that it has ended.
  void prove() { facts_.has_proof = true; }

private:
  core::time_point now() const;
  void dispatch(const core::succession_event& event);
  void obey(const core::send_message& x);
  void obey(const core::keep_tombstone& x);
  void obey(const core::examine& x);
  void obey(const core::open_coordinator& x);
  void obey(const core::set_leadership_end& x);
  void obey(const core::close_coordinator& x);
  void obey(const core::ask_decider& x);
  void obey(const core::report_charter_written& x);
  void obey(const core::move_agents&) {}
  void obey(const core::report_election&) {}
  void obey(const core::report_no_successor& x);
  void obey(const core::account_for& x);
  void obey(const core::arm_timer& x);
  void note_written();
  void tell_voters();
  void take_answer();
  void poll();
  void poll_later();
  void try_at(int coordinator);
  void hear(const agent_id& from, const core::succession_message& x);
  void hear(const agent_id& from, const leader_question&);
  void hear(const agent_id& from, const leader_answer& x);
  /// Posts to another actor of this process.
  void post(action what);

  cluster& all_;
  std::shared_ptr<os_process> process_;
  agent& who_;
  core::duration clock_; ///< Of its machine, ahead of the simulation's.
  core::succession brain_;
  voter_facts facts_;
  core::time_point leadership_end_{};
  coordinator* hosted_ = nullptr;
  bool is_over_ = false; ///< It takes part in no election any more.
  bool is_leaving_ = false;
  std::vector<core::voter_candidate> here_;
  std::vector<agent_id> shown_; ///< Who votes, as its agents have been told.
  std::optional<uint64_t> orders_left_;
  bool dies_keeping_ = false;

  // As one that looks for the leader.
  std::set<agent_id> told_; ///< Contacts.
  bool seeks_ = false;
  bool seeks_second_ = false;
  core::time_point sought_{}; ///< When the agent began to look.
  uint64_t poll_ = 0;         ///< Names the newest.
  int poll_count_ = 0;
  core::questions questions_;
  bool is_referred_ = false;    ///< To the leader, since the last question.
  leader_answer told_leader_{}; ///< The last that has said itself where it is.
  int trying_ = 0; ///< The coordinator that the agent connects to; 0: none.
  int linked_ = 0; ///< Where it is linked, as far as is known.
  int lost_ = 0;   ///< Where it was before.
  failure last_failure_{errc::connection_timed_out, "no agent knows"};
};

} // namespace actorrun::sim
