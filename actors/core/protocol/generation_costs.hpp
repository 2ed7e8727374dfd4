// Records which nodes have cost the job generations, and when.
#pragma once

#include "actors/core/protocol/charter.hpp"
#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::core {

/// One record per node: whenever a generation ends, it is written down whose doing
/// that was. From that follows
///
/// - who stands by: a node that was lost or cut off, and has cost three generations
/// within
///   the window. It gets no place until it has been reachable for a while, which is
///   longer each time, and until so few of its costs are left in the window that a
///   return and another loss make three again. So a sick node costs the others at
///   most three generations in each window.
/// - how soon newcomers may end a generation: from the third short generation in a
/// row on,
///   the next one runs for a while before, twice as long each time. Nodes are not
///   told apart for that, because one may return under another name.
/// - which host has failed so often that it is to be excluded.
///
/// An agent that is started again is another agent on the same host, and the same
/// node: it takes over the record of one that is gone.
class generation_costs {
public:
  /// @param first The first wait of newcomers, positive.
  /// @param window Costs count for so long, and no wait is longer; positive. A
  /// generation
  ///        that runs for so long is no short one.
  /// @param failure_count_max A host with so many failures of its own is to be
  ///        excluded; 0: never.
  generation_costs(duration first, duration window, uint32_t failure_count_max);

  // -- nodes come and go --------------------------------------------------------

  /// The node can be reached, for the first time or again.
  void node_is_here(const agent_id& agent, const std::string& host,
                    time_point now);
  void node_is_away(const agent_id& agent);
  void node_is_gone(const agent_id& agent);

  // -- what they cost -----------------------------------------------------------

  /// A generation has been formed or adopted.
  void generation_begins(time_point now);

  /// A member of the generation has gone, or has ended its workers. Counts once per
  /// generation.
  void member_departs(time_point now);

  /// The node was lost or cut off, and that has ended the generation at `when`.
  void add_loss(const agent_id& agent, const std::string& host,
                time_point when);

  /// The generation was ended at `when` to let the node in. Only of a node that has
  /// cost others before this is a cost.
  void add_return(const agent_id& agent, time_point when);

  /// A worker of this host was the root cause of a generation's end.
  /// @returns whether the host is to be excluded for that
  bool add_failure(const std::string& host);

  // -- what follows -------------------------------------------------------------

  /// Its last loss was one too many.
  bool is_too_costly(const agent_id& agent) const;

  /// `cost 3 generations within 41 s`
  std::string text(const agent_id& agent) const;

  /// From now on it stands by.
  /// @pre `is_too_costly(agent)`
  void stand_by(const agent_id& agent);

  bool stands_by(const agent_id& agent) const;

  /// When it may take part again, if it stays reachable; none: it does not stand
  /// by, or cannot be reached.
  std::optional<time_point> due(const agent_id& agent) const;

  /// The first of all that stand by.
  std::optional<time_point> next_due() const;

  /// It may take part again. Its costs stay known.
  void let_in(const agent_id& agent);

  /// Forgets all that nodes of the host have cost: who knows better has said so.
  void forgive(const std::string& host);

  /// The generation may not be ended for newcomers before.
  time_point newcomers_due() const { return begun_ + wait_; }

  duration newcomers_wait() const { return wait_; }

  /// Of the host, since it was last forgiven.
  uint32_t failure_count(const std::string& host) const;

  /// The hosts with the most failures, the worst first, `told_hosts_max` at most.
  std::vector<failing_host> failing_hosts() const;

  /// What an earlier coordinator has counted, if failures count at all.
  void know_failures(const std::vector<failing_host>& hosts);

private:
  /// So many generations within the window.
  static constexpr size_t loss_count_max = 3;

  struct node {
    agent_id agent; ///< The last one that was this node.
    std::string host;
    bool is_gone = false;
    std::optional<time_point> here_since{}; ///< None: it is away, or gone.
    std::array<std::optional<time_point>, loss_count_max>
      costs{}; ///< Newest first.
    bool is_too_costly = false;
    bool stands_by = false;
    uint32_t stays = 0; ///< How often it has stood by.
  };

  const node* find(const agent_id& agent) const;
  node* find(const agent_id& agent);
  static void add_cost(node& x, time_point when);
  void forget_old(time_point now);
  duration time_to_be_reachable(const node& x) const;
  void reset();

  duration first_;
  duration window_;
  uint32_t failure_count_max_;
  std::vector<node> nodes_; ///< Only those that have cost something.
  std::map<std::string, uint32_t> failures_; ///< By host.
  // All nodes together.
  duration wait_{0};
  time_point begun_{};
  uint32_t short_generations_ = 0;
  bool is_counted_ = true; ///< No generation, or its end has been counted.
};

/// At most this many nodes are recorded; those whose last cost is oldest go first.
inline constexpr size_t costly_nodes_max = 1'024;

/// At most this many hosts' failures are counted; those of others are not.
inline constexpr size_t failing_hosts_max = 1'024;

} // namespace actorrun::core
