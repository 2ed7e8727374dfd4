// What the coordinator's decisions read like, in transcripts, logs and status.

#include "actors/core/protocol/rendezvous.hpp"

namespace actorrun::core {

namespace {

std::string counted(size_t n, const char* noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

struct effect_writer {
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
  std::string operator()(const grant_lease& x) const {
    return "grant_lease " + x.agent.value;
  }
  std::string operator()(const probe_agent& x) const {
    return "probe_agent " + x.agent.value;
  }
  std::string operator()(const forget_agent& x) const {
    return "forget_agent " + x.agent.value;
  }
  std::string operator()(const announce_epoch& x) const {
    auto text = std::string{"announce_epoch"};
    for (const auto& plan : x.plans) {
      if (&plan == &x.plans.front())
        text += " " + to_string(plan.epoch) + ":";
      text += " " + plan.own.agent.value + "="
              + std::to_string(plan.own.first_global_rank) + "+"
              + std::to_string(plan.own.slot_count);
    }
    return text;
  }
  std::string operator()(const revoke_epoch& x) const {
    auto text = "revoke_epoch " + to_string(x.epoch) + ":";
    for (const auto& agent : x.agents)
      text += " " + agent.value;
    return text;
  }
  std::string operator()(const explain_failures& x) const {
    return "explain_failures " + to_string(x.epoch) + ": " + x.first.agent.value
           + "/" + std::to_string(x.first.local_rank)
           + (x.others.empty() ? "" : " +" + std::to_string(x.others.count()))
           + (x.exemption.empty() ? "" : ", excused");
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
  return std::visit(effect_writer{}, x);
}

std::string to_string(rendezvous::phase x) {
  switch (x) {
    case rendezvous::phase::gathering:
      return "gathering";
    case rendezvous::phase::last_call:
      return "last_call";
    case rendezvous::phase::starting:
      return "starting";
    case rendezvous::phase::running:
      return "running";
    case rendezvous::phase::stopping:
      return "stopping";
    case rendezvous::phase::ended:
      return "ended";
  }
  return "unknown";
}

std::string rendezvous::waiting_for() const {
  const auto here = std::to_string(tally_.candidates) + " of "
                    + nodes_asked(settings_) + " nodes are here";
  switch (phase_) {
    case phase::gathering:
      if (recovering_)
        return "listening for agents of an earlier coordinator";
      if (tally_.holding > 0)
        return counted(tally_.holding, "agent")
               + " must stop the workers of an older epoch";
      return "waiting for "
             + counted(
               settings_.agent_count_min
                 - std::min(settings_.agent_count_min, tally_.candidates),
               "more node")
             + ": " + here;
    case phase::last_call:
      return "last call for more nodes: " + here;
    case phase::starting:
      return counted(tally_.starting, "agent")
             + " must start the workers of epoch " + to_string(epoch_);
    case phase::stopping:
      return counted(tally_.holding, "agent")
             + " must stop the workers of epoch " + to_string(epoch_) + " ("
             + why_ + ")";
    case phase::running:
    case phase::ended:
      return {};
  }
  return {};
}

std::string rendezvous::waiting_for(const agent_id& agent) const {
  const auto i = agents_.find(agent);
  const auto placed = i != agents_.end() && i->second.member_of == epoch_;
  if (!active())
    return waiting_for();
  if (placed)
    return {};
  const auto running = "epoch " + to_string(epoch_) + " runs with "
                       + counted(tally_.members, "node");
  if (tally_.members >= settings_.agent_count_max)
    return running + ", the most there may be; this one stands by";
  if (tally_.unfinished < tally_.members)
    return running + " and is about to end; this one stands by";
  return running + "; the job starts again with this one in a moment";
}

} // namespace actorrun::core
