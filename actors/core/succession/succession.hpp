// Elects the agent whose coordinator leads the job, among the agents themselves.
#pragma once

#include "actors/core/alarm_set.hpp"
#include "actors/core/succession/succession_events.hpp"
#include "actors/core/succession/voter.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::core {

// Times of decision 0061. All follow from the delay of one message (up to 4 ms on the
// networks that the model has, far less in a rack) and from how long a busy machine
// lets a thread wait (some 100 ms with 8 busy loops on 2 cores).

/// Between two beats of a leader; as often as agents of small jobs speak.
inline constexpr auto beat_interval = std::chrono::milliseconds{60};
/// How long a voter's promise binds: six beats …
inline constexpr auto promise_min = std::chrono::milliseconds{360};
/// … and longer where a leader has thousands of agents to serve between two of them.
inline constexpr auto promise_per_node = std::chrono::microseconds{200};
/// A leader's lease ends so much before the promises: for the time between looking at
/// the clock and acting, and for clocks of different speed.
inline constexpr auto leadership_guard = std::chrono::milliseconds{20};
/// Candidates stand one after the other, so that votes are not split: each waits so
/// long for those before it in the order, of whom it knows nothing, …
inline constexpr auto place_pause = std::chrono::milliseconds{30};
/// … and so long for each one before it that learns of the leader's end as it does.
inline constexpr auto proof_pause = std::chrono::milliseconds{10};
/// From questions without enough answers to the next ones: several ways there and
/// back.
inline constexpr auto ask_pause = std::chrono::milliseconds{80};

/// A leader that leaves waits so long for others that leave, too, as when a scheduler
/// ends them all: none of them is to lead next. It hears who is here with each beat.
inline constexpr auto leave_pause
  = beat_interval + std::chrono::milliseconds{20};
/// A leader by an operator's word has terms and generations so much higher than the last
/// one that is known: those who were called lost and live could not catch up by their
/// own elections.
inline constexpr uint64_t ordered_term_step = uint64_t{1} << 20U;
/// No such leader has a higher term, which leaves room for all others: the journal and
/// people get it in 32 bits.
inline constexpr uint64_t ordered_term_max = uint64_t{1} << 31U;
/// An operator waits for it so long at most.
inline constexpr auto order_limit = std::chrono::seconds{2};

/// Who wants a longer fence, for a busy machine or a bad network, waits as much longer
/// for another leader. What is left of the fence is for its election, and for agents to
/// find it: so long, and longer with many of them.
inline constexpr auto election_time = std::chrono::milliseconds{200};
inline constexpr auto finding_per_node = std::chrono::microseconds{400};

inline constexpr duration promise_of(uint32_t node_count) {
  return std::max<duration>(promise_min, promise_per_node * node_count);
}

/// Where a person has chosen these two.
/// @param interval Of the agents' keep-alives; the fence is that of their workers.
inline constexpr duration promise_of(uint32_t node_count, duration interval,
                                     duration fence) {
  const auto rest
    = fence - interval - election_time - finding_per_node * node_count;
  return std::max<duration>(promise_of(node_count),
                            std::min<duration>(fence * 2 / 5, rest));
}

struct succession_options {
  agent_id self;
  /// The same for all agents of the job.
  duration promise = promise_min;
};

///       promise lapsed, proof,
///       Resigned for this one      majority would       majority votes
///  follower -----------------> asking -----------> candidate ---------> writing
///     ^                                                ^                   |
///     |                                   higher term, |           stored  |
///     |                                   lease lasts  |                   v
///     +-- beat or vote of a higher term, lease over, --+--------------- leading
///         resigned
///
/// Rules have the numbers of decision 0061.
///
/// A leader is one until `set_leadership_end`, which lies before the end of the
/// promises that it counts on (rule 3). What it learns from the votes, it first writes
/// again under its own term (6); only then there is a coordinator, and nothing is seen
/// before a quorum keeps it (7).
class succession {
public:
  enum class phase { follower, asking, candidate, writing, leading };

  explicit succession(succession_options options);

  /// Applies one event and returns its effects. Deterministic. O(voters squared).
  /// @param now Read once by the caller; never decreases between calls. It goes on
  ///        while the machine is suspended.
  std::vector<succession_effect> step(const succession_event& event,
                                      time_point now);

  phase current_phase() const { return phase_; }

  /// Whom agents are to ask for a coordinator; empty: unknown.
  const agent_id& leader() const { return voter_.leader(); }

  /// The latest time such that a quorum has answered what was sent then or later.
  /// What a leader grants is as old as that (rule 10).
  time_point confirmed() const { return confirmed_; }

  /// Until then it is the leader; zero: it is none.
  time_point leadership_end() const { return leadership_end_; }

  /// The key of the last charter that a quorum keeps; of a leader.
  charter_key written() const { return written_; }

  /// What its machine would say if it ended now.
  tombstone own_tombstone() const { return voter_.own_tombstone(); }

private:
  enum class alarm { beat, stand, ask_again, hand_over };

  /// A charter on its way to the voters.
  struct pending_write {
    uint64_t change = 0;
    std::vector<agent_id> removed{}; ///< Voters that are none with it.
  };

  void on(const job_founded& event);
  void on(const message_heard& event);
  void on(const link_broken& event);
  void on(const process_examined& event);
  void on(const decider_answered& event);
  void on(const charter_proposed& event);
  void on(const members_changed& event);
  void on(const hand_over_requested& event);
  void on(const election_ordered& event);
  void on(const timer_fired& event);

  void hear(const agent_id& from, const beat& x);
  void hear(const agent_id& from, const beat_heard& x);
  void hear(const agent_id& from, const ask& x);
  void hear(const agent_id& from, const would& x);
  void hear(const agent_id& from, const would_not& x);
  void hear(const agent_id& from, const vote_request& x);
  void hear(const agent_id& from, const vote& x);
  void hear(const agent_id& from, const resigned& x);

  // As a voter.
  const agent_id& self() const { return voter_.self(); }
  bool can_vote_for(const agent_id& who, uint64_t term,
                    const std::vector<ended_leader>& ended) const;
  void follow();
  void keep();
  void wait_for_lapse();
  void stand_by(time_point due);

  // As a candidate.
  bool can_stand() const;
  duration place() const;
  void ask_voters();
  void count_answers();
  void stand(uint64_t term);
  void request_votes(const written_charter& by);
  void count_votes();
  std::set<agent_id> dead_supporters(const written_charter& by,
                                     uint64_t term) const;
  const written_charter& newest_of_votes() const;
  void win(const written_charter& known, std::set<agent_id> dead);
  duration silence_of_votes() const;
  leader_change change_of_leader() const;

  // As a candidate by an operator's word.
  bool is_given_up(const agent_id& who, const written_charter& by) const;
  std::vector<agent_id> missing(const written_charter& by,
                                const std::set<agent_id>& have) const;
  void go_on_by_order();
  void finish_order(report_election::verdict what,
                    std::vector<agent_id> who = {});
  void take_over_alone(written_charter& next);

  // As a leader.
  bool is_leader() const { return leadership_end_ != time_point{}; }
  void take_up_beats();
  void send_beats();
  void measure();
  void step_down(const std::string& reason);
  void end_leadership(const std::string& reason);
  void write(written_charter next, std::vector<agent_id> removed);
  void check_write();
  void open();
  void report_ended_predecessor();
  void proceed();
  std::vector<agent_id> wanted_voters() const;
  std::optional<agent_id> find_successor() const;
  void hand_over();
  void resign_if_ready();
  void resign(const agent_id& successor);

  void send(const agent_id& to, succession_message what);
  void arm(alarm which, time_point due);

  succession_options options_;
  voter voter_;
  phase phase_ = phase::follower;
  bool is_leaving_ = false;       ///< It leads no more, whatever happens.
  bool is_founder_ = false;       ///< And has not begun the job yet.
  std::optional<tombstone> kept_; ///< As the machine has it.
  time_point stand_at_{};
  alarm_set<alarm, 4> alarms_;

  // Of a candidate.
  uint64_t term_heard_ = 0; ///< The highest that any voter has told.
  uint64_t asked_term_ = 0;
  std::set<agent_id> supporters_; ///< Would vote.
  std::set<agent_id> asked_;      ///< For their votes.
  std::map<agent_id, vote> votes_;
  /// What an operator has said.
  struct operators_word {
    election_ordered what;
    time_point due{};
  };
  std::optional<operators_word> word_;  ///< Until it is answered.
  std::set<agent_id> refusers_;         ///< Would not vote, whatever the term.
  time_point leader_heard_at_{};        ///< The last one's last beat.
  std::optional<leader_change> handed_; ///< To this agent, since then.

  // Of a leader.
  leader_change won_by_; ///< Why it leads.
  time_point leadership_end_{};
  time_point confirmed_{};
  time_point beat_sent_{};
  uint64_t won_term_ = 0;   ///< The last in which it was elected …
  std::set<agent_id> dead_; ///< … and by whom of the dead.
  std::map<agent_id, time_point> heard_; ///< When what they answered was sent.
  std::map<agent_id, charter_key> stored_;
  charter_key written_{};
  std::optional<pending_write> pending_;
  std::optional<account_for> predecessor_; ///< Once its end is proved.
  /// No other has been confirmed since then. At most a promise ago: agents that
  /// come back soon are waited for.
  time_point silent_since_{};
  bool is_open_ = false;     ///< Its coordinator.
  bool has_decided_ = false; ///< Since the last beat (rule 4).
  charter job_;              ///< As the coordinator wants it.
  uint64_t change_ = 0;      ///< Of that.
  uint64_t reported_ = 0;    ///< The last change.
  std::vector<voter_candidate> here_;
  std::optional<hand_over_requested> hand_over_;
  time_point hand_over_at_{}; ///< Not before.

  // Of the step that is taken.
  time_point now_{};
  std::vector<succession_effect> out_;
};

std::string to_string(succession::phase x);

} // namespace actorrun::core
