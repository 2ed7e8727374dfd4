// Has agents find out for operators where workers are, and puts together what
// they have seen.
#pragma once

#include "actors/interfaces.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace actorrun {

/// The workers of a node.
struct node_ranks {
  std::string host;
  uint32_t first_global_rank = 0;
  uint32_t slot_count = 0; ///< 0: it has none.
};

/// Why these ranks make no sense; empty: they do.
/// @param world_size 0: there is no generation.
std::string
objection_to_ranks(const google::protobuf::RepeatedField<uint32_t>& ranks,
                   uint32_t world_size);

class operator_stacks {
public:
  /// At most this many questions at a time.
  static constexpr size_t question_count_max = 8;

  /// Timeout for the agents: less than operators wait for us.
  static constexpr auto timeout = std::chrono::milliseconds{4'500};

  using node_map = std::map<agent_id, node_ranks>;

  /// @param tell Tells the agent, if there is a link to it.
  explicit operator_stacks(
    std::function<void(const agent_id&, const v1::StacksRequest&)> tell)
    : tell_(std::move(tell)) {}

  /// Answers a `ReadStacks`, when all agents have.
  /// @param nodes Those with a link.
  /// @returns the request to expire after `timeout`; 0: it was answered
  uint64_t begin(const operator_question& x, const node_map& nodes,
                 uint32_t world_size);

  /// @returns false: this agent was not asked
  bool on_report(const agent_id& agent, v1::StacksReport x);

  void lost(const agent_id& agent);
  void expired(uint64_t request);

private:
  struct question {
    operator_question who;
    std::map<agent_id, std::string> awaited{}; ///< With their hosts.
    std::string trouble{};
    size_t lost_count = 0; ///< Nodes whose links went down meanwhile.
    bool truncated = false;
    std::vector<v1::WorkerStack> workers{};
    size_t size = 0; ///< Of these, in bytes.
  };

  static void answer(question& x);
  void settle(uint64_t request);

  std::function<void(const agent_id&, const v1::StacksRequest&)> tell_;
  std::map<uint64_t, question> questions_{};
  uint64_t last_question_ = 0;
};

} // namespace actorrun
