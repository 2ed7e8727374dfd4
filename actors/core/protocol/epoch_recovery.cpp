#include "actors/core/protocol/epoch_recovery.hpp"

#include <cassert>

namespace actorrun::core {

namespace {

/// Two coordinators that did not know of each other may have given the same
/// number to two epochs.
/// @pre both have one number
bool is_same(const epoch_plan& a, const epoch_plan& b) {
  return a.node_count == b.node_count && a.world_size == b.world_size
         && a.master_port == b.master_port
         && a.master_address == b.master_address;
}

} // namespace

bool may_run(share_state x) {
  return x != share_state::idle && x != share_state::succeeded;
}

void epoch_recovery::listen(epoch_id unseen) {
  is_listening_ = true;
  unseen_ = unseen;
}

epoch_id epoch_recovery::number_epoch(epoch_id newest) {
  is_open_ = false;
  return floor_ = {std::max(newest, floor_).value + 1};
}

epoch_recovery::progress epoch_recovery::take(agent_table& agents,
                                              agent_record& record,
                                              const claim& held) {
  assert(is_open_);
  auto out = progress{};
  if (!is_listening_)
    is_listening_ = out.has_begun = true;
  agents.change(record, [&](auto& x) {
    x.place = held.plan.own;
    x.holds = may_run(held.state) ? held.plan.epoch : epoch_id{};
    x.share = held.state;
  });
  // While workers of an epoch run, no newer epoch can have been formed. Without
  // that proof, agents of a newer one get the time of a lease to come back.
  const auto runs
    = held.state == share_state::starting || held.state == share_state::running;
  if (runs)
    unseen_ = {};
  const auto is_rival = held.plan.epoch == agents.epoch()
                        && !is_same(held.plan, agents.common_plan());
  if (is_rival && runs)
    agents.dismiss_members();
  out.is_newer = held.plan.epoch > agents.epoch() || (is_rival && runs);
  if (out.is_newer)
    agents.adopt(held.plan);
  const auto is_over = is_rival && !runs;
  agents.change(record, [&](auto& x) {
    x.member_of = is_over ? epoch_id{} : held.plan.epoch;
  });
  if (!is_over && (held.failure || held.state == share_state::failed))
    out.failure = held.failure.value_or(worker_failure{});
  out.is_complete
    = runs && agents.counts().members == agents.common_plan().node_count;
  return out;
}

epoch_recovery::findings epoch_recovery::conclude(const agent_table& agents) {
  is_listening_ = false;
  floor_ = std::max(floor_, unseen_);
  auto out = findings{};
  const auto epoch = agents.epoch();
  if (epoch.value == 0)
    return out;
  is_open_ = false;
  out.has_epoch = true;
  out.member_count = agents.counts().members;
  for (const auto& [id, x] : agents.records()) {
    if (x.holds.value != 0 && x.member_of != epoch)
      out.stale.push_back({id, x.holds});
    if (x.member_of != epoch)
      continue;
    const auto is_leaving = x.leaving && x.share != share_state::succeeded;
    if (x.share == share_state::idle || x.share == share_state::stopping
        || is_leaving)
      ++out.stopped_count;
  }
  return out;
}

} // namespace actorrun::core
