// Has agents read log files for operators of the coordinator, and passes on what
// they have read.
#pragma once

#include "actors/core/logs/log_fanout.hpp"
#include "actors/interfaces.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace actorrun {

/// A node as operators name it.
struct named_node {
  std::string host;
  std::optional<uint32_t> node_rank; ///< None: it has no place.
};

/// Whether an operator means this node: by the id of its agent, its host or its
/// node rank. An empty name means each.
bool means(const std::string& name, const agent_id& agent,
           const named_node& node);

/// What the coordinator knows of the job's generations; 0: there is none.
struct job_generations {
  generation_id newest{};
  generation_id previous{};
  uint32_t world_size = 0; ///< Of the newest.
};

/// Runs core::log_fanout. Agents are told which generation is meant: one that fell
/// silent or stands by has taken part in others, whose ranks were other workers.
class operator_readings {
public:
  using node_map = std::map<agent_id, named_node>;

  /// Both tell the agent, if there is a link to it.
  struct agent_orders {
    std::function<void(const agent_id&, const v1::LogReading&)> begin;
    std::function<void(const agent_id&, const v1::LogCredit&)> grant;
  };

  explicit operator_readings(agent_orders tell) : tell_(std::move(tell)) {}

  /// Answers a `ReadLogs`, from now on.
  /// @param nodes Those with a link.
  void begin(const operator_question& x, const node_map& nodes,
             const job_generations& known);

  /// Obeys an `AddLogCredit`.
  void add_credit(const operator_question& x);

  /// An agent has read lines.
  /// @returns false: they are for no reading that it takes part in
  bool on_chunk(const agent_id& agent, v1::LogChunk x);

  /// A link to an agent is up: who follows gets its lines, too.
  /// @param newest The job's generation; as in `job_generations`.
  void joined(const agent_id& agent, const named_node& node,
              generation_id newest);

  /// It is down.
  /// @param has_ended The job has: its agents leave.
  void lost(const agent_id& agent, bool has_ended);

  /// The job is over: ends all readings.
  void close();

private:
  struct reading {
    operator_question who;
    std::map<agent_id, std::string> hosts{}; ///< Of all that have read for it.
  };

  void tell_begin(uint64_t id, const agent_id& agent, generation_id generation,
                  bool is_back);
  void say(const reading& to, std::string trouble, bool is_end = false);

  agent_orders tell_;
  core::log_fanout fanout_{};
  std::map<uint64_t, reading> readings_{};
};

} // namespace actorrun
