// What agents that come back still have, and what must be done about it.

#include "actors/core/protocol/rendezvous.hpp"

#include <algorithm>

namespace actorrun::core {

namespace {

bool may_run(share_state x) {
  return x != share_state::idle && x != share_state::succeeded;
}

/// Two coordinators that knew nothing of each other may have given the same
/// number to two epochs.
bool is_same(const epoch_plan& a, const epoch_plan& b) {
  return a.epoch == b.epoch && a.node_count == b.node_count
         && a.world_size == b.world_size && a.master_port == b.master_port
         && a.master_address == b.master_address;
}

} // namespace

void rendezvous::reconcile(agent_record& record,
                           const std::optional<claim>& held, time_point now,
                           effects& out) {
  const auto& agent = record.offering.agent;
  if (held) {
    epoch_floor_ = std::max(epoch_floor_, held->plan.epoch);
    policy_.restore(held->plan.restart_count);
  }
  if (held && held->plan.epoch >= epoch_ && !formed_)
    return recover(record, *held, now, out);
  if (record.holds == epoch_ && (active() || phase_ == phase::stopping)) {
    if (held && held->failure && phase_ == phase::stopping
        && held->plan.epoch == epoch_)
      note(agent, {{*held->failure}, 0}, now);
    if (phase_ == phase::stopping)
      out.emplace_back(revoke_epoch{epoch_, {agent}, why_, std::nullopt});
    else if (held && held->plan.epoch == epoch_)
      resume(record, *held, now, out);
    else // The link broke before the plan had arrived.
      out.emplace_back(announce_epoch{{plan_for(record)}, why_});
    return;
  }
  const auto runs = held && may_run(held->state);
  change(record,
         [&](auto& x) { x.holds = runs ? held->plan.epoch : epoch_id{}; });
  if (runs)
    out.emplace_back(revoke_epoch{
      held->plan.epoch, {agent}, "the epoch is over", std::nullopt});
}

// A member of the running epoch is back after its link broke.
void rendezvous::resume(agent_record& record, const claim& held, time_point now,
                        effects& out) {
  const auto agent = record.offering.agent;
  if (held.failure || held.state == share_state::failed)
    on(worker_failed{agent, epoch_, held.failure.value_or(worker_failure{})},
       now, out);
  switch (held.state) {
    case share_state::starting:
      return;
    case share_state::running:
      return on(workers_started{agent, epoch_}, now, out);
    case share_state::succeeded:
      return on(workers_succeeded{agent, epoch_}, now, out);
    case share_state::failed:
      return;
    case share_state::idle:
      return on(workers_stopped{agent, epoch_}, now, out);
    case share_state::stopping:
      if (active())
        revoke("agent " + agent.value + " stops its workers, out of touch",
               std::nullopt, out);
      return;
  }
}

// An agent of an earlier coordinator's epoch. The newest epoch anybody claims
// is the one that may go on; all older ones are over.
void rendezvous::recover(agent_record& record, const claim& held,
                         time_point now, effects& out) {
  if (!recovering_ && epoch_ != held.plan.epoch) {
    recovering_ = true;
    arm(recovery_alarm, now + limits_.lease(), out);
  }
  record.place = held.plan.own;
  record.holds = may_run(held.state) ? held.plan.epoch : epoch_id{};
  record.share = held.state;
  record.failure = held.failure;
  record.failure_told = now;
  // Where workers run, nobody can have formed a newer epoch; without that sign
  // its agents get the time of a lease to come back.
  const auto runs
    = held.state == share_state::starting || held.state == share_state::running;
  if (runs)
    unseen_ = {};
  const auto newest = held.plan.epoch > epoch_;
  const auto rival = !newest && !is_same(held.plan, common_);
  if (rival)
    for (auto& [id, x] : agents_)
      x.member_of = runs && x.member_of == epoch_ ? epoch_id{} : x.member_of;
  if (newest || (rival && runs)) {
    epoch_ = held.plan.epoch;
    common_ = held.plan;
    failures_.clear();
  }
  record.member_of = rival && !runs ? epoch_id{} : held.plan.epoch;
  recount();
  if (recovering_ && runs && tally_.members == common_.node_count)
    conclude_recovery(out);
}

void rendezvous::conclude_recovery(effects& out) {
  recovering_ = false;
  epoch_floor_ = std::max(epoch_floor_, unseen_);
  for (auto which : {recovery_alarm, join_alarm, quiet_alarm, last_call_alarm})
    disarm(which);
  if (epoch_.value == 0)
    return;
  const auto back = tally_.members;
  auto gone = uint32_t{0};
  for (const auto& [id, x] : agents_) {
    if (x.holds.value != 0 && (x.holds != epoch_ || x.member_of != epoch_))
      out.emplace_back(
        revoke_epoch{x.holds, {id}, "the epoch is over", std::nullopt});
    if (x.member_of != epoch_)
      continue;
    if (x.failure || x.share == share_state::failed)
      note(id, {{x.failure.value_or(worker_failure{})}, 0}, x.failure_told);
    if (x.share == share_state::idle || x.share == share_state::stopping)
      ++gone;
  }
  phase_ = tally_.starting > 0 ? phase::starting : phase::running;
  formed_ = true;
  const auto news = std::to_string(back - gone) + " of "
                    + std::to_string(common_.node_count) + " agents of epoch "
                    + to_string(epoch_) + " came back to the new coordinator";
  if (!failures_.empty()) {
    // Who is missing died while there was no coordinator to see it.
    if (back < common_.node_count)
      departures_.push_back({{}, news});
    fail(out);
  } else if (back < common_.node_count || gone > 0) {
    revoke(news, std::nullopt, out);
  }
}

} // namespace actorrun::core
