#include "tests/sim/gpu_watch.hpp"

#include <algorithm>

namespace actorrun::sim {

using core::gpu_fault_action;

namespace {

bool is_at_work(const core::rendezvous& brain, const core::agent_record& x) {
  return x.member_of == brain.generation() && x.member_of.value != 0
         && x.share != core::share_state::succeeded;
}

/// Nodes without a fault that wait for a place, beside those that one is meant for.
int64_t count_spares(const core::rendezvous& brain) {
  auto count = int64_t{0};
  for (const auto& [agent, x] : brain.agents()) {
    const auto is_member
      = x.member_of == brain.generation() && x.member_of.value != 0;
    count += may_be_placed(x) && !x.gpu_trouble && !is_member;
    count -= is_at_work(brain, x) && x.is_draining();
  }
  return count;
}

} // namespace

void gpu_watch::after(const core::rendezvous& brain,
                      const core::rendezvous_event& event,
                      const std::vector<core::rendezvous_effect>& effects) {
  const auto* told = std::get_if<core::gpus_reported>(&event);
  if (told != nullptr) {
    const auto i = brain.agents().find(told->agent);
    if (i == brain.agents().end() || !i->second.drain)
      handled_.erase(told->agent); // It may be another fault.
  }
  // All other events may bring one.
  if (told == nullptr || told->trouble.empty())
    ++spare_count_;
  for (const auto& x : effects) {
    if (const auto* drain = std::get_if<core::notify_drain>(&x))
      see_drain(brain, drain->agent);
    const auto* exclusion = std::get_if<core::report_exclusion>(&x);
    if (exclusion != nullptr
        && exclusion->reason.starts_with(core::gpu_fault_option))
      see_exclusion(brain, exclusion->host);
  }
  spare_count_ = count_spares(brain);
  auto overdue = std::set<agent_id>{};
  for (const auto& [agent, x] : brain.agents())
    if (should_go(brain, x)) {
      overdue.insert(agent);
      if (overdue_.contains(agent))
        checks_.report("gpu: " + agent.value + " stays, and could go");
    }
  overdue_ = std::move(overdue);
}

void gpu_watch::see_drain(const core::rendezvous& brain,
                          const agent_id& agent) {
  const auto i = brain.agents().find(agent);
  if (i == brain.agents().end() || !i->second.drain
      || i->second.drain->by != core::gpu_fault_option
      || !handled_.insert(agent).second)
    return;
  if (action_ != gpu_fault_action::drain)
    checks_.report("gpu: " + agent.value + " is drained, and was not to be");
  if (spare_count_-- <= 0)
    checks_.report("gpu: " + agent.value + " is drained without a spare");
}

void gpu_watch::see_exclusion(const core::rendezvous& brain,
                              const std::string& host) {
  if (action_ != gpu_fault_action::exclude)
    checks_.report("gpu: host " + host + " is excluded, and was not to be");
  auto has_fault = false;
  auto left = uint32_t{0};
  for (const auto& [agent, x] : brain.agents()) {
    const auto is_there = x.offering.host == host;
    has_fault |= is_there && x.gpu_trouble;
    left += !is_there && may_be_placed(x);
    if (is_there)
      handled_.insert(agent);
  }
  if (!has_fault)
    checks_.report("gpu: host " + host + " is excluded, and has no fault");
  if (left < brain.settings().agent_count_min)
    checks_.report("gpu: host " + host + " is excluded, and too few are left");
}

// In a generation that runs, with a spare that waits for a place.
bool gpu_watch::should_go(const core::rendezvous& brain,
                          const core::agent_record& x) const {
  return action_ == gpu_fault_action::drain && !brain.settings().ranked
         && x.gpu_trouble && is_at_work(brain, x) && x.connected && !x.leaving
         && !x.drain && x.offering.leased
         && !handled_.contains(x.offering.agent)
         && brain.current_phase() == core::rendezvous::phase::running
         && spare_count_ > 0;
}

} // namespace actorrun::sim
