// Lists what an agent is notified of as a voter and as a leader, and what it orders.
#pragma once

#include "actors/core/protocol/leadership_orders.hpp"
#include "actors/core/succession/succession_messages.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

// -- events: what has happened ------------------------------------------------

/// This agent begins the job. Whoever decides that knows that no other does.
struct job_founded {
  charter job;
  std::string endpoint{}; ///< Where the others reach this agent.
};

/// From another agent that votes, or that may lead.
struct message_heard {
  agent_id from;
  succession_message what;
};

/// The link to another of them has ended, which proves nothing.
struct link_broken {
  agent_id to;
};

/// Answer to `examine`, or the machine has said it unasked.
struct process_examined {
  agent_id who;
  /// None: it may live. A refused connection is no proof either.
  std::optional<tombstone> proof{};
};

/// Answer to `ask_decider`: the coordinator's actor takes its messages.
struct decider_answered {};

/// The coordinator wants this to outlive it. Later wishes contain the earlier ones.
struct charter_proposed {
  uint64_t change = 0; ///< From 1 on; only grows while one coordinator lives.
  charter job;
};

/// The agents that are in the job and stay, this one included. The coordinator says so
/// once it has stopped to listen: before that its agents are still coming back.
struct members_changed {
  std::vector<voter_candidate> here;
};

/// Another agent is to lead.
struct hand_over_requested {
  bool leaves = false;   ///< This agent, too: it leads no more.
  agent_id to{};         ///< If it can; empty: the next in the order.
  std::string reason{};  ///< For people; one line.
  bool is_asked = false; ///< By an operator, who is the reason.
};

/// An operator says that voters are lost, whatever they have promised: this agent is to
/// lead without them. Answered by one `report_election`.
struct election_ordered {
  std::vector<std::string> lost; ///< As of `is_at`.
  std::string by{};              ///< Who says so; one line.
};

using succession_event
  = std::variant<job_founded, message_heard, link_broken, process_examined,
                 decider_answered, charter_proposed, members_changed,
                 hand_over_requested, election_ordered, timer_fired>;

// -- effects: what the owner must do, in order --------------------------------

struct send_message {
  agent_id to;
  succession_message what;
};

/// Have the machine keep this as part of the tombstone of this process. What follows
/// in the same list of effects must not be seen before it.
struct keep_tombstone {
  tombstone left;
};

/// Ask the machine of this process whether it has ended.
struct examine {
  agent_id who;
};

/// Answered by `decider_answered` if the coordinator's actor still takes messages.
struct ask_decider {};

/// A quorum keeps what the coordinator has asked for up to this change.
struct report_charter_written {
  uint64_t change = 0;
};

/// Tell all agents that this one leads now, or will in a moment.
struct move_agents {
  agent_id to;
};

/// No other agent can lead.
struct report_no_successor {};

/// This agent led before, took part in the newest generation, and has ended with its
/// workers: the hold-back does not wait for it.
struct account_for {
  agent_id who;
  generation_id generation{};
  uint32_t node_count = 0; ///< Of that generation.
};

/// How an election has ended that an operator has ordered.
struct report_election {
  enum class verdict : uint8_t {
    leads,          ///< This agent does.
    has_no_charter, ///< It has never voted, and is none that leads next.
    leader_known,   ///< There is one, or these have promised to follow one.
    lost_answers,   ///< These are called lost, and live.
    others_silent,  ///< These are not called lost, and do not answer.
    is_under_way,   ///< Another such election.
    terms_spent,    ///< No higher term is left.
  };

  verdict what = verdict::leads;
  std::vector<agent_id> who{};

  friend bool operator==(const report_election&, const report_election&)
    = default;
};

using succession_effect
  = std::variant<send_message, keep_tombstone, examine, open_coordinator,
                 set_leadership_end, close_coordinator, ask_decider,
                 report_charter_written, move_agents, report_no_successor,
                 account_for, report_election, arm_timer>;

/// One line per effect, for transcripts: `vote_request 4 to n2`.
std::string to_string(const succession_effect& x);

} // namespace actorrun::core
