// Grants leases to agents, and finds those that have expired.
#pragma once

#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <list>
#include <optional>
#include <unordered_map>
#include <vector>

namespace actorrun::core {

/// All leases are equally long, so the order of renewal is the order of expiry, but
/// for a few: renewals are told in batches, between which agents join.
class lease_table {
public:
  /// @param length From a renewal to the expiry, positive.
  explicit lease_table(duration length);

  /// Grants a lease, or renews the one the agent has, which never gets shorter.
  /// O(1) in the order of `heard`, otherwise O(what is newer).
  /// @param heard When the agent was.
  void renew(const agent_id& agent, time_point heard);

  /// Ends a lease without expiry. O(1).
  void drop(const agent_id& agent);

  /// Gives every holder `extra` more time, once per renewal: an observer that was
  /// itself late has no right to call others silent, but one that is always late
  /// must call them so at last. O(N).
  /// @param extra Not negative.
  void stretch(duration extra);

  /// Ends and returns the leases that have run out at `now`, oldest first.
  std::vector<agent_id> expire(time_point now);

  /// When the next lease runs out; none if there is none.
  std::optional<time_point> next_due() const;

  /// When the holder was last heard, or later if its lease was stretched; none: it has
  /// no lease.
  std::optional<time_point> heard(const agent_id& agent) const;

  bool contains(const agent_id& agent) const { return leases_.contains(agent); }

  size_t size() const { return leases_.size(); }

private:
  struct entry {
    agent_id agent;
    time_point due;
    bool is_stretched = false;
  };

  using entries = std::list<entry>;

  entries::iterator place_for(time_point due);

  duration length_;
  entries order_; ///< By ascending due time.
  std::unordered_map<agent_id, entries::iterator> leases_;
};

} // namespace actorrun::core
