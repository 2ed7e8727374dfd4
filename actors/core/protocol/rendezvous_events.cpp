#include "actors/core/protocol/rendezvous_events.hpp"

namespace actorrun::core {

namespace {

struct rendezvous_effect_writer {
  std::string operator()(const arm_timer& x) const {
    return "arm_timer " + to_string(x.timer);
  }
  std::string operator()(const accept_agent& x) const {
    return "accept_agent " + x.agent.value;
  }
  std::string operator()(const reject_agent& x) const {
    return "reject_agent " + x.agent.value + ": "
           + std::string{to_string(x.code)};
  }
  std::string operator()(const probe_agent& x) const {
    return "probe_agent " + x.agent.value;
  }
  std::string operator()(const forget_agent& x) const {
    return "forget_agent " + x.agent.value;
  }
  std::string operator()(const give_up_agent& x) const {
    return "give_up_agent " + x.agent.value;
  }
  std::string operator()(const announce_generation& x) const {
    auto text = std::string{"announce_generation"};
    for (const auto& plan : x.plans) {
      if (&plan == &x.plans.front())
        text += " " + to_string(plan.generation) + ":";
      text += " " + plan.own.agent.value + "="
              + std::to_string(plan.own.first_global_rank) + "+"
              + std::to_string(plan.own.slot_count);
    }
    return text;
  }
  std::string operator()(const revoke_generation& x) const {
    auto text = "revoke_generation " + to_string(x.generation) + ":";
    for (const auto& agent : x.agents)
      text += " " + agent.value;
    return text;
  }
  std::string operator()(const send_safe_point_order& x) const {
    auto text = to_string(x.order) + " of " + to_string(x.generation) + ":";
    for (const auto& agent : x.agents)
      text += " " + agent.value;
    return text;
  }
  std::string operator()(const start_ahead& x) const {
    auto text = "start_ahead " + to_string(x.generation) + ":";
    for (const auto& agent : x.agents)
      text += " " + agent.value;
    return text;
  }
  std::string operator()(const explain_failures& x) const {
    return "explain_failures " + to_string(x.generation) + ": "
           + x.first.agent.value + "/" + std::to_string(x.first.local_rank)
           + (x.others.empty() ? "" : " +" + std::to_string(x.others.count()))
           + (x.exemption.empty() ? "" : ", exempt");
  }
  std::string operator()(const notify_drain& x) const {
    return "notify_drain " + x.agent.value + (x.stays ? ", which stays" : "");
  }
  std::string operator()(const report_rule& x) const {
    return "report_rule: " + x.text;
  }
  std::string operator()(const report_exclusion& x) const {
    return "report_exclusion " + x.host;
  }
  std::string operator()(const list_exclusion& x) const {
    return "list_exclusion " + x.what.host;
  }
  std::string operator()(const unlist_exclusion& x) const {
    return "unlist_exclusion " + x.host;
  }
  std::string operator()(const attribute_failure& x) const {
    return "attribute_failure " + to_string(x.generation) + " of "
           + x.agent.value + ": " + to_string(x.to);
  }
  std::string operator()(const order_checks& x) const {
    auto text = std::string{"order_checks"};
    for (const auto& agent : x.agents)
      text += " " + agent.value;
    return text;
  }
  std::string operator()(const report_stand_by& x) const {
    return "report_stand_by " + x.agent.value;
  }
  std::string operator()(const report_return& x) const {
    return "report_return " + x.agent.value;
  }
  std::string operator()(const set_log_level& x) const {
    auto text = "set_log_level " + x.level + ":";
    for (const auto& agent : x.agents)
      text += " " + agent.value;
    return text;
  }
  std::string operator()(const hand_over_leadership& x) const {
    return "hand_over_leadership " + x.to.value;
  }
  std::string operator()(const tell_charter& x) const {
    auto text = std::string{"tell_charter:"};
    for (const auto& agent : x.agents)
      text += " " + agent.value;
    return text;
  }
  std::string operator()(const write_outcome& x) const {
    return "write_outcome " + to_string(x.result.kind);
  }
  std::string operator()(const answer_operator& x) const {
    return std::string{"answer_operator "}
           + (x.code == errc::none ? "done" : "refused") + ": " + x.text;
  }
  std::string operator()(const end_job& x) const {
    auto text = "end_job " + to_string(x.result.kind) + ":";
    for (const auto& agent : x.agents)
      text += " " + agent.value;
    return text;
  }
  std::string operator()(const close_job&) const { return "close_job"; }
};

} // namespace

std::string to_string(const rendezvous_effect& x) {
  return std::visit(rendezvous_effect_writer{}, x);
}

} // namespace actorrun::core
