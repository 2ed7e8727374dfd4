#include "actors/core/protocol/end_reason.hpp"

#include <utility>

namespace actorrun::core {

namespace {

using kind = end_origin::kind;

std::string title(const agent_id& x) {
  return "agent " + x.value;
}

} // namespace

end_reason agent_leaves(const agent_id& agent, int signal,
                        const std::string& by) {
  const auto why = signal != 0  ? " (signal " + std::to_string(signal) + ")"
                   : by.empty() ? std::string{}
                                : ", as " + by + " has asked";
  return {title(agent) + " leaves" + why,
          end_origin{kind::node_left, agent, signal, signal != 0 ? "" : by}};
}

end_reason agent_has_left(const agent_id& agent, const std::string& by) {
  return {title(agent) + " left", end_origin{kind::node_left, agent, 0, by}};
}

end_reason agent_is_lost(const agent_id& agent, const std::string& evidence) {
  return {title(agent) + " lost: " + evidence,
          end_origin{kind::node_lost, agent, 0, "", evidence}};
}

end_reason agent_has_ended(const agent_id& agent) {
  return {title(agent) + " ended",
          end_origin{kind::node_lost, agent, 0, "", "its agent has ended"}};
}

end_reason agent_was_cut_off(const agent_id& agent, bool has_stopped) {
  return {title(agent) + (has_stopped ? " stopped" : " stops")
            + " its workers, out of touch",
          end_origin{kind::node_cut_off, agent}};
}

end_reason asked_for(std::string text, const std::string& by) {
  auto out = end_reason{std::move(text)};
  if (!by.empty())
    out.origin = end_origin{.by = by};
  return out;
}

} // namespace actorrun::core
