// Lists what the agents that elect a coordinator say to each other.
#pragma once

#include "actors/core/protocol/charter.hpp"
#include "actors/core/succession/voter_set.hpp"
#include "actors/core/time.hpp"

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

/// Of two charters the one with the higher key counts.
struct charter_key {
  uint64_t term = 0;    ///< Whose leader has written it.
  uint64_t version = 0; ///< Counted from 1 in each term.

  friend auto operator<=>(const charter_key&, const charter_key&) = default;
};

/// What outlives a coordinator, as a quorum of voters keeps it.
struct written_charter {
  charter_key key{};
  voter_set voters{};
  /// The leader, the other voters, the deputy.
  std::vector<agent_id> order{};
  endpoint_list endpoints{}; ///< Of these.
  /// What the coordinator wants to be known of the job; not read here, but for the
  /// lease and what the leader's end means.
  charter job{};

  friend bool operator==(const written_charter&, const written_charter&)
    = default;
};

/// What a process leaves behind that its machine proves to have ended, with its
/// workers.
struct tombstone {
  uint64_t term = 0; ///< The highest in which it has voted.
  /// Its vote or its last answer was for this one: that binds it for a while after
  /// its end, too.
  agent_id promised_to{};
  std::optional<written_charter> charter{};

  friend bool operator==(const tombstone&, const tombstone&) = default;
};

/// Proof that a process leads no more.
struct ended_leader {
  agent_id who;
  /// It has resigned from this term, and from all before; none: the process has
  /// ended.
  std::optional<uint64_t> term{};

  friend bool operator==(const ended_leader&, const ended_leader&) = default;
};

// Times are of the sender's clock; who answers sends them back unread.

/// The leader of this term leads still.
struct beat {
  uint64_t term = 0;
  time_point sent;
  std::optional<written_charter> charter{}; ///< If the voter lacks it.
};

struct beat_heard {
  uint64_t term = 0;
  time_point sent;
  charter_key stored{}; ///< The newest that the voter has.
};

/// Whether a vote would be given: the answer commits to nothing.
struct ask {
  uint64_t term = 0;
  std::vector<ended_leader> ended{};
};

struct would {
  uint64_t term = 0;
};

/// To a question, to a request for a vote, and to a beat of a term that is over.
struct would_not {
  uint64_t term = 0; ///< The highest that the voter knows.
};

struct vote_request {
  uint64_t term = 0;
  time_point sent;
  std::vector<ended_leader> ended{};
};

struct vote {
  uint64_t term = 0;
  time_point sent;
  /// For so long the voter has supported none but this candidate.
  duration silence{0};
  std::optional<written_charter> charter{};
};

/// The leader of this term leads no more, and this one is to follow.
struct resigned {
  uint64_t term = 0;
  agent_id successor;
  std::string reason{};  ///< For people; one line.
  bool is_asked = false; ///< By an operator, who is the reason.
};

using succession_message = std::variant<beat, beat_heard, ask, would, would_not,
                                        vote_request, vote, resigned>;

/// `vote_request 4`
std::string to_string(const succession_message& x);

} // namespace actorrun::core
