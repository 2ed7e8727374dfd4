// Describes the agents that elect a coordinator: one set, or two while they change.
#pragma once

#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::core {

/// With more, each write costs more messages, and three losses at once are rare.
inline constexpr size_t voters_max = 5;

/// An agent that can be a voter: it is in the job, and it stays.
struct voter_candidate {
  agent_id agent;
  std::string host;
  std::string zone{};      ///< What fails together; empty: unknown.
  bool is_witness = false; ///< It has no workers, so none die with it.
  std::string endpoint{};  ///< Where the others reach it: `10.0.0.2:41000`.
  /// Nodes look for the job on its host. It leads in the end, so it has to vote.
  bool is_home = false;

  friend bool operator==(const voter_candidate&, const voter_candidate&)
    = default;
};

/// A majority of two sets is a majority of each. So whoever counts by one of them
/// shares a voter with whoever counts by both.
class voter_set {
public:
  voter_set() = default;
  explicit voter_set(std::vector<agent_id> voters)
    : newest_(std::move(voters)) {}

  /// The voters that remain once a change is over.
  const std::vector<agent_id>& newest() const { return newest_; }

  /// Those before the change that is under way; empty: none is.
  const std::vector<agent_id>& former() const { return former_; }

  bool is_changing() const { return !former_.empty(); }

  /// @pre `!is_changing()`
  voter_set changing_to(std::vector<agent_id> next) const;

  /// @pre `is_changing()`
  voter_set changed() const { return voter_set{newest_}; }

  /// Each voter of both sets once.
  std::vector<agent_id> all() const;

  bool contains(const agent_id& who) const;

  bool has_majority(const std::set<agent_id>& of) const;

  /// The latest time that a majority has reached; `always` have reached any.
  std::optional<time_point>
  majority_time(const std::map<agent_id, time_point>& reached,
                const std::set<agent_id>& always) const;

  friend bool operator==(const voter_set&, const voter_set&) = default;

private:
  std::vector<agent_id> former_; ///< Empty: no change is under way.
  std::vector<agent_id> newest_;
};

/// Chooses voters: 5 where there are 5 hosts, 3 where there are 3, else only the
/// leader. They are on different hosts, and in different zones where that is
/// possible; first the leader, then the one where nodes look for the job, witnesses,
/// and those who vote already.
/// @pre `leader` is among `here`
std::vector<agent_id> choose_voters(const std::vector<voter_candidate>& here,
                                    const agent_id& leader,
                                    const std::vector<agent_id>& current);

/// The leader, the other voters, and a deputy that does not vote: the one that can
/// lead after all of them are proved dead.
std::vector<agent_id> order_of(const voter_set& voters, const agent_id& leader,
                               const std::vector<voter_candidate>& here);

/// Whether `x` is one of `xs`.
bool is_in(const std::vector<agent_id>& xs, const agent_id& x);

/// Where agents are reached, by id.
using endpoint_list = std::map<agent_id, std::string>;

/// Whether a person who names this host, address or agent means that agent.
/// @param who An agent's id begins with its host and its process (`make_agent_id`).
bool is_at(const agent_id& who, const endpoint_list& endpoints,
           const std::string& named);

/// The endpoints of those in the order: as they are told now, or were before.
endpoint_list endpoints_of(const std::vector<agent_id>& order,
                           const std::vector<voter_candidate>& here,
                           const endpoint_list& before);

} // namespace actorrun::core
