#include "actors/core/protocol/generation_recovery.hpp"

#include <algorithm>
#include <cassert>
#include <set>

namespace actorrun::core {

namespace {

/// Two coordinators that did not know of each other may have given the same
/// number to two generations.
bool is_same(const generation_plan& a, const generation_plan& b) {
  return a.generation == b.generation && a.node_count == b.node_count
         && a.world_size == b.world_size && a.master_port == b.master_port
         && a.master_address == b.master_address;
}

bool is_running(const agent_record& x) {
  return x.share == share_state::starting || x.share == share_state::running;
}

} // namespace

bool may_run(share_state x) {
  return x != share_state::idle && x != share_state::succeeded;
}

void generation_recovery::listen(generation_id unseen, time_point since) {
  is_listening_ = true;
  unseen_ = unseen;
  granted_until_ = since;
}

void generation_recovery::close(time_point now) {
  is_open_ = false;
  is_first_ = true;
  granted_until_ = now;
}

bool generation_recovery::hold_back_until(time_point end, time_point now) {
  if (end <= hold_back_end_ || end <= now)
    return false;
  hold_back_end_ = end;
  return true;
}

generation_id generation_recovery::name_generation(generation_id newest) {
  is_open_ = false;
  floor_ = next_after(later(newest, floor_));
  if (first_named_ == generation_id{})
    first_named_ = floor_;
  return floor_;
}

// All its agents are back, and nothing is amiss with their workers.
bool generation_recovery::is_whole(const agent_table& agents,
                                   const generation_plan& plan) const {
  auto ranks = std::set<uint32_t>{};
  for (const auto& [id, own] : plans_) {
    const auto i = agents.records().find(id);
    if (is_same(own, plan) && i != agents.records().end()
        && (is_running(i->second) || i->second.share == share_state::succeeded))
      ranks.insert(own.own.node_rank);
  }
  return ranks.size() == plan.node_count;
}

void generation_recovery::adopt(agent_table& agents,
                                const generation_plan& plan) const {
  agents.dismiss_members();
  agents.adopt(plan);
  for (const auto& [id, own] : plans_)
    if (auto* record = agents.find(id); record != nullptr && is_same(own, plan))
      agents.change(*record, [&](auto& x) {
        x.place = own.own;
        x.member_of = plan.generation;
      });
}

generation_recovery::progress
generation_recovery::take(agent_table& agents, agent_record& record,
                          const claim& held, uint32_t node_count_min) {
  assert(is_open_);
  auto out = progress{};
  const auto& plan = held.plan;
  const auto is_possible = plan.node_count >= node_count_min;
  if (!is_listening_ && is_possible)
    is_listening_ = out.has_begun = true;
  plans_[record.offering.agent] = plan;
  agents.change(record, [&](auto& x) {
    x.place = plan.own;
    x.holds = may_run(held.state) ? plan.generation : generation_id{};
    x.share = held.state;
    x.member_of = {};
  });
  const auto runs = is_running(record);
  if (is_same(plan, agents.common_plan()))
    agents.change(record, [&](auto& x) { x.member_of = plan.generation; });
  else
    out.is_newer = is_possible && outweighs(agents, plan, runs);
  if (out.is_newer)
    adopt(agents, plan);
  const auto is_of_it = record.member_of == plan.generation;
  // While workers of a generation run, no newer generation can have been formed:
  // all its agents say so. Without that proof, agents of a newer one get the time
  // of a lease to come back.
  out.is_complete = is_of_it && runs && are_all_back(agents);
  if (out.is_complete)
    unseen_ = {};
  if (is_of_it && (held.failure || held.state == share_state::failed))
    out.failure = held.failure.value_or(worker_failure{});
  return out;
}

bool generation_recovery::account_for(const agent_table& agents,
                                      const member_ended& x) {
  if (!is_listening_)
    return false;
  ended_ = x;
  return std::ranges::any_of(agents.records(),
                             [&](const auto& y) {
                               return y.second.member_of == x.generation
                                      && is_running(y.second);
                             })
         && are_all_back(agents);
}

// A plan that names another number of nodes is not the one that has ended in part.
bool generation_recovery::are_all_back(const agent_table& agents) const {
  const auto& plan = agents.common_plan();
  const auto has_ended = ended_ && ended_->generation == plan.generation
                         && ended_->node_count == plan.node_count;
  return agents.counts().members + (has_ended ? 1 : 0) == plan.node_count;
}

// Whether an agent's word that it has something of this generation counts more than
// what is known of another one.
bool generation_recovery::outweighs(const agent_table& agents,
                                    const generation_plan& plan,
                                    bool runs) const {
  const auto& known = agents.common_plan();
  if (known.generation.value == 0)
    return true;
  const auto is_whole = this->is_whole(agents, plan);
  if (this->is_whole(agents, known))
    return is_whole && plan.node_count > known.node_count;
  return (is_whole && runs) || plan.generation > known.generation
         || (plan.generation == known.generation && runs);
}

generation_recovery::findings
generation_recovery::conclude(const agent_table& agents) {
  is_listening_ = false;
  floor_ = later(floor_, unseen_);
  auto out = findings{};
  const auto generation = agents.generation();
  for (const auto& [id, x] : agents.records())
    if (x.holds.value != 0
        && (generation.value == 0 || x.member_of != generation)) {
      out.stale.push_back({id, x.holds});
      out.is_contradicted |= is_running(x);
    }
  plans_.clear();
  if (generation.value == 0)
    return out;
  is_open_ = false;
  out.has_generation = true;
  out.member_count = agents.counts().members;
  out.is_done = out.member_count > 0 && agents.counts().unfinished == 0;
  if (out.member_count < agents.common_plan().node_count
      && are_all_back(agents))
    out.ended = ended_;
  for (const auto& [id, x] : agents.records()) {
    if (x.member_of != generation)
      continue;
    const auto is_leaving = x.leaving && x.share != share_state::succeeded;
    if (x.share == share_state::idle || x.share == share_state::stopping
        || is_leaving)
      ++out.stopped_count;
  }
  return out;
}

} // namespace actorrun::core
