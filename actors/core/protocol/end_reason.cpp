#include "actors/core/protocol/end_reason.hpp"

#include "actors/core/end_class.hpp"
#include "actors/core/failure.hpp"
#include "actors/core/protocol/agent_table.hpp"
#include "actors/core/text.hpp"

#include <csignal>
#include <utility>

namespace actorrun::core {

namespace {

using trouble = end_origin::kind;

std::string title(const agent_id& x) {
  return "agent " + x.value;
}

// Ctrl-C is a person's.
end_finding finding_of_leaving(int signal, const leave_order& order) {
  const auto name = signal_name(signal);
  if (signal == SIGINT)
    return {};
  if (signal != 0)
    return {end_class::preemption,
            "its agent was sent "
              + (name.empty() ? "signal " + std::to_string(signal) : name)};
  if (order.is_notice)
    return {end_class::preemption, order.by};
  if (!order.gpu_trouble.empty())
    return with_node_facts({}, order.gpu_trouble, {});
  if (!order.by.empty())
    return {};
  return {end_class::unknown, "its agent has ended by itself"};
}

} // namespace

leave_order order_to_leave(const agent_record& x) {
  if (!x.is_draining())
    return {};
  auto out = leave_order{x.drain->by, x.drain->is_notice};
  if (out.by == gpu_fault_option && x.gpu_trouble)
    out.gpu_trouble = *x.gpu_trouble;
  return out;
}

end_reason agent_leaves(const agent_id& agent, int signal,
                        const leave_order& order) {
  const auto& by = order.by;
  const auto why = signal != 0  ? " (signal " + std::to_string(signal) + ")"
                   : by.empty() ? std::string{}
                                : ", as " + by + " has asked";
  return {title(agent) + " leaves" + why,
          end_origin{trouble::node_left, agent, signal, signal != 0 ? "" : by},
          finding_of_leaving(signal, order)};
}

end_reason agent_has_left(const agent_id& agent, const leave_order& order) {
  return {title(agent) + " left",
          end_origin{trouble::node_left, agent, 0, order.by},
          finding_of_leaving(0, order)};
}

end_reason agent_is_lost(const agent_id& agent, const std::string& evidence) {
  return {title(agent) + " lost: " + evidence,
          end_origin{trouble::node_lost, agent, 0, "", evidence},
          {end_class::node, evidence}};
}

end_reason agent_has_ended(const agent_id& agent) {
  auto out = agent_is_lost(agent, "its agent has ended");
  out.text = title(agent) + " ended";
  return out;
}

end_reason agent_was_cut_off(const agent_id& agent, bool has_stopped) {
  return {title(agent) + (has_stopped ? " stopped" : " stops")
            + " its workers, out of touch",
          end_origin{trouble::node_cut_off, agent},
          {end_class::network, "the node was out of touch"}};
}

end_reason node_is_unfit(const std::string& title, const std::string& unfit) {
  return {title + " takes no part: " + unfit, {}, {end_class::node, unfit}};
}

end_reason asked_for(std::string text, const std::string& by) {
  auto out = end_reason{std::move(text)};
  if (!by.empty())
    out.origin = end_origin{.by = by};
  return out;
}

end_reason noticed(std::string text, const std::string& by) {
  auto out = asked_for(std::move(text), by);
  out.finding = {end_class::preemption, by};
  return out;
}

} // namespace actorrun::core
