// Answers what operators, and machines that are about to go, ask of a job.
#pragma once

#include "actors/core/protocol/agent_table.hpp"
#include "actors/core/protocol/job_orders.hpp"
#include "actors/core/protocol/rendezvous_events.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::core {

/// What an answer depends on, beside the nodes and the orders.
struct operator_view {
  time_point now{};
  bool is_active = false;    ///< A generation starts or runs.
  bool is_finishing = false; ///< Some of its nodes have succeeded.
  bool has_safe_points = false;
  std::string why_not_now{};       ///< Empty: the job can be changed now.
  std::string why_no_generation{}; ///< Empty: there is one to end.
  bool waits_to_start = false; ///< For no node, but because ends were alike.
};

/// What a request leads to, beside the changes of nodes and orders that it makes.
struct operator_decision {
  std::string what;           ///< The request in a few words: `drain n2`.
  result<std::string> answer; ///< What is done, or why not.
  std::optional<agent_id> begins_to_leave{};
  std::optional<end_reason> ends_generation{};
  std::vector<agent_id> no_longer_stand_by{};
  std::string forgiven_host{}; ///< Whatever it has cost; empty: none.
  /// Why nodes that stood by may take part: those that are more than so many.
  end_reason admission{};
  uint32_t newcomers_before = 0;
  std::optional<set_log_level> level{};
  std::optional<hand_over_leadership> hands_over{};
  std::optional<duration> saves_within{}; ///< All workers.
  bool starts_now = false;                ///< It waits no longer.
};

/// Names a notice in the place of an operator: `the notice on n2 ("spot: terminate")`
std::string notice_text(const agent_record& node, const std::string& words);

/// Nothing that is asked costs a restart, and what would leave a job that runs with
/// too few nodes is refused. Each request changes facts; what follows for the
/// generation that runs, follows as from any change of them.
class operator_desk {
public:
  /// All must live as long as the desk.
  operator_desk(agent_table& agents, job_orders& orders,
                const operator_view& view)
    : agents_(agents), orders_(orders), view_(view) {}

  operator_decision decide(const drain_requested& x);
  operator_decision decide(const drain_withdrawal_requested& x);
  operator_decision decide(const resize_requested& x);
  operator_decision decide(const restart_requested& x);
  operator_decision decide(const exclusion_requested& x);
  operator_decision decide(const inclusion_requested& x);
  operator_decision decide(const log_level_requested& x);
  operator_decision decide(const lead_requested& x);

  /// That machine goes, so this is never refused.
  /// @pre its agent is here, and neither leaves nor drains
  operator_decision decide(const node_noticed& x);

  /// No node of the host is a candidate from now on.
  /// @pre as for `job_orders::exclude`
  void exclude(excluded_host x);

private:
  result<std::string> drain(const drain_requested& x, operator_decision& out);
  std::string let_go(agent_record& record, drain_order x,
                     operator_decision& out) const;
  const agent_record* next_to_take_part() const;
  result<std::string> withdraw_drain(const drain_withdrawal_requested& x);
  result<std::string> resize(const resize_requested& x, operator_decision& out);
  result<std::string> exclude(const exclusion_requested& x);
  result<std::string> include(const inclusion_requested& x,
                              operator_decision& out);
  result<std::string> set_level(const log_level_requested& x,
                                operator_decision& out);

  result<std::string> lead(const lead_requested& x, operator_decision& out);

  result<agent_record*> find_node_now(const std::string& name);
  result<agent_record*> find_node(const std::string& name);
  std::string why_unknown(const std::string& name) const;
  std::string need() const;
  bool can_spare(const agent_record& x) const;
  bool can_spare_host(const std::string& host) const;
  bool are_enough(uint32_t rest, bool is_missed) const;

  agent_table& agents_;
  job_orders& orders_;
  const operator_view& view_;
};

} // namespace actorrun::core
