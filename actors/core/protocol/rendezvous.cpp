#include "actors/core/protocol/rendezvous.hpp"

#include "actors/core/protocol/rank_assignment.hpp"
#include "actors/core/workers/worker_settings.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace actorrun::core {

rendezvous::rendezvous(job_settings settings, timeouts limits)
  : settings_(settings), limits_(limits), policy_(settings.restart_count_max),
    leases_(limits.lease()) {
  assert(settings.agent_count_min >= 1);
  assert(settings.agent_count_min <= settings.agent_count_max);
  assert(settings.agent_count_max <= agents_per_epoch_max);
  assert(!settings.ranked
         || settings.agent_count_min == settings.agent_count_max);
}

std::vector<rendezvous_effect> rendezvous::step(const rendezvous_event& event,
                                                time_point now) {
  auto out = effects{};
  if (closed_)
    return out;
  std::visit([&](const auto& x) { on(x, now, out); }, event);
  auto before = phase_;
  do {
    before = phase_;
    advance(now, out);
  } while (phase_ != before);
  if (const auto due = leases_.next_due(); due && !is_armed(lease_alarm))
    arm(lease_alarm, *due, out);
  assert(tally_.members <= settings_.agent_count_max || recovering_);
  return out;
}

// -- agents come and go -------------------------------------------------------

void rendezvous::on(const coordinator_started& event, time_point now,
                    effects& out) {
  if (!event.successor)
    return;
  recovering_ = true;
  unseen_ = event.unseen;
  arm(recovery_alarm, now + limits_.lease(), out);
}

void rendezvous::on(const agent_joined& event, time_point now, effects& out) {
  const auto& agent = event.offering.agent;
  if (auto why = refusal(event)) {
    out.emplace_back(reject_agent{agent, why->code, std::move(why->text)});
    return;
  }
  auto [i, added] = agents_.try_emplace(agent);
  auto& record = i->second;
  if (added) {
    marks_.clear(event.offering.host);
    record.arrival = ++arrivals_;
    record.shadowed = is_rank_taken(event.offering);
    last_arrival_ = now;
    count(record, +1);
  }
  change(record, [&](auto& x) {
    x.offering = event.offering;
    x.connected = true;
  });
  if (event.offering.leased)
    leases_.renew(agent, now);
  out.emplace_back(accept_agent{agent});
  if (phase_ == phase::ended)
    out.emplace_back(end_job{*result_, {agent}});
  else
    reconcile(record, event.held, now, out);
}

std::optional<failure> rendezvous::refusal(const agent_joined& event) const {
  const auto& x = event.offering;
  if (event.settings != settings_)
    return failure{errc::settings_mismatch,
                   "the job runs with " + describe(settings_, event.settings)
                     + ", agent " + x.agent.value + " asks for "
                     + describe(event.settings, settings_)};
  if (x.slot_count < 1 || x.slot_count > slots_per_agent_max)
    return failure{errc::bad_slot_count,
                   "agent " + x.agent.value + " offers "
                     + std::to_string(x.slot_count) + " workers; 1 to "
                     + std::to_string(slots_per_agent_max) + " are possible"};
  if (!settings_.ranked)
    return std::nullopt;
  const auto rank = x.node_rank.value_or(settings_.agent_count_max);
  if (rank >= settings_.agent_count_max)
    return failure{errc::settings_mismatch,
                   "agent " + x.agent.value + " brings no node rank in 0.."
                     + std::to_string(settings_.agent_count_max - 1)};
  // Who claims workers has to stop them under our eyes before it may go.
  if (event.held || agents_.contains(x.agent))
    return std::nullopt;
  for (const auto& [id, other] : agents_)
    if (other.offering.node_rank == rank && other.connected && !other.leaving)
      return failure{errc::duplicate_agent,
                     "node rank " + std::to_string(rank) + " is taken: agent "
                       + id.value + " on " + other.offering.host + " has it"};
  return std::nullopt;
}

bool rendezvous::is_rank_taken(const offer& x) const {
  return settings_.ranked
         && std::any_of(agents_.begin(), agents_.end(), [&](const auto& y) {
              return y.first != x.agent && !y.second.shadowed
                     && y.second.offering.node_rank == x.node_rank;
            });
}

void rendezvous::on(const agent_heard& event, time_point now, effects& out) {
  const auto* record = find(event.agent);
  if (record == nullptr || !record->offering.leased)
    return; // Who is lost must not believe that it may go on.
  leases_.renew(event.agent, now);
  out.emplace_back(grant_lease{event.agent});
}

void rendezvous::on(const agent_disconnected& event, time_point, effects& out) {
  auto* record = find(event.agent);
  if (record == nullptr)
    return;
  if (!record->offering.leased) {
    lose(event.agent, "agent " + event.agent.value + " ended", out);
    return;
  }
  change(*record, [](auto& x) { x.connected = false; });
  out.emplace_back(probe_agent{event.agent});
}

void rendezvous::on(const agent_lost& event, time_point, effects& out) {
  // A link that came back in the meantime proves the evidence wrong.
  if (auto* record = find(event.agent); record && !record->connected)
    lose(event.agent, "agent " + event.agent.value + " lost: " + event.evidence,
         out);
}

void rendezvous::on(const agent_leaving& event, time_point, effects& out) {
  auto* record = find(event.agent);
  if (record == nullptr)
    return;
  change(*record, [](auto& x) { x.leaving = true; });
  const auto reason
    = "agent " + event.agent.value + " leaves"
      + (event.signal == 0 ? std::string{}
                           : " (signal " + std::to_string(event.signal) + ")");
  exempt(*record, reason);
  if (active() && record->member_of == epoch_
      && record->share != share_state::succeeded)
    revoke(reason, std::nullopt, out);
}

void rendezvous::on(const agent_left& event, time_point, effects& out) {
  lose(event.agent, "agent " + event.agent.value + " left", out);
}

void rendezvous::lose(const agent_id& agent, const std::string& reason,
                      effects& out) {
  auto i = agents_.find(agent);
  if (i == agents_.end())
    return;
  const auto missed = active() && i->second.member_of == epoch_
                      && i->second.share != share_state::succeeded;
  if (!marks_.contains(agent)) // It goes because its workers do not.
    exempt(i->second, reason);
  count(i->second, -1);
  const auto gone = std::move(i->second);
  agents_.erase(i);
  leases_.drop(agent);
  out.emplace_back(forget_agent{agent});
  if (settings_.ranked && !gone.shadowed)
    hand_over(gone);
  if (missed)
    revoke(reason, std::nullopt, out);
}

// Whoever waits for its rank has it now.
void rendezvous::hand_over(const agent_record& gone) {
  auto* successor = static_cast<agent_record*>(nullptr);
  for (auto& [id, x] : agents_)
    if (x.shadowed && x.offering.node_rank == gone.offering.node_rank
        && (successor == nullptr || x.arrival < successor->arrival))
      successor = &x;
  if (successor != nullptr)
    change(*successor, [](auto& x) { x.shadowed = false; });
}

// -- workers start and end ----------------------------------------------------

void rendezvous::on(const workers_started& event, time_point, effects&) {
  auto* record = member(event.agent, event.epoch);
  if (record != nullptr && record->share == share_state::starting)
    change(*record, [](auto& x) { x.share = share_state::running; });
}

void rendezvous::on(const worker_failed& event, time_point now, effects& out) {
  auto* record = member(event.agent, event.epoch);
  if (record == nullptr || record->holds != event.epoch)
    return;
  change(*record, [&](auto& x) {
    x.share = share_state::failed;
    x.failure = event.failure;
    x.failure_told = now;
  });
  note(event.agent, {{event.failure}, 0}, now);
  if (active())
    fail(out);
}

void rendezvous::on(const workers_succeeded& event, time_point, effects&) {
  auto* record = find(event.agent);
  if (record == nullptr || record->holds != event.epoch)
    return;
  const auto counts = member(event.agent, event.epoch) != nullptr;
  change(*record, [counts](auto& x) {
    x.share = counts ? share_state::succeeded : share_state::idle;
    x.holds = {};
  });
}

void rendezvous::on(const workers_stopped& event, time_point now,
                    effects& out) {
  auto* record = find(event.agent);
  if (record == nullptr)
    return;
  if (event.master_port != 0)
    record->offering.master_port = event.master_port;
  if (record->holds != event.epoch)
    return;
  change(*record, [](auto& x) {
    x.share = share_state::idle;
    x.holds = {};
  });
  if (event.unkillable_count > 0)
    put_in_quarantine(*record, event.unkillable_count);
  if (member(event.agent, event.epoch) != nullptr)
    note(event.agent, event.others, now);
  if (active() && event.epoch == epoch_ && record->member_of == epoch_)
    revoke("agent " + event.agent.value + " stopped its workers, out of touch",
           std::nullopt, out);
}

// -- the rest -----------------------------------------------------------------

void rendezvous::on(const stop_requested& event, time_point now, effects& out) {
  if (phase_ != phase::ended)
    end({.kind = outcome::verdict::stopped,
         .first_failure = {},
         .signal = event.signal,
         .reason
         = "the job was told to end by signal " + std::to_string(event.signal)},
        now, out);
}

void rendezvous::on(const timer_fired& event, time_point now, effects& out) {
  for (size_t i = 0; i < alarm_count; ++i) {
    if (event.timer.value == 0 || alarms_[i].timer != event.timer)
      continue;
    const auto due = alarms_[i].due;
    disarm(alarm(i));
    switch (alarm(i)) {
      case lease_alarm:
        return expire_leases(due, now, out);
      case join_alarm:
        return end({.kind = outcome::verdict::unmet,
                    .first_failure = {},
                    .signal = 0,
                    .reason = waiting_for()},
                   now, out);
      case last_call_alarm:
        hurry_ = true;
        return;
      case quiet_alarm:
        return on_quiet(now, out);
      case settle_alarm:
        return on_settled(now, out);
      case recovery_alarm:
        return conclude_recovery(out);
      case close_alarm:
      case alarm_count:
        closed_ = true;
        out.emplace_back(close_job{});
        return;
    }
  }
}

// A coordinator whose own timer comes late has been starved or suspended, and
// so have the keep-alives that wait in its mailbox.
void rendezvous::expire_leases(time_point due, time_point now, effects& out) {
  const auto late = now - due;
  if (late > limits_.keep_alive_interval)
    leases_.stretch(late + limits_.keep_alive_interval);
  for (const auto& agent : leases_.expire(now))
    lose(agent,
         "agent " + agent.value + " lost: silent for "
           + std::to_string(limits_.lease().count()) + " ms",
         out);
  if (phase_ == phase::ended)
    close_if_empty(out);
}

// -- bookkeeping --------------------------------------------------------------

agent_record* rendezvous::find(const agent_id& agent) {
  auto i = agents_.find(agent);
  return i == agents_.end() ? nullptr : &i->second;
}

agent_record* rendezvous::member(const agent_id& agent, epoch_id epoch) {
  auto* record = find(agent);
  return record != nullptr && record->member_of == epoch && epoch == epoch_
           ? record
           : nullptr;
}

void rendezvous::count(const agent_record& x, int sign) {
  const auto add = [sign](uint32_t& n, bool is) { n += is ? sign : 0; };
  const auto is_candidate = x.connected && !x.leaving && !x.shadowed;
  const auto is_member = x.member_of == epoch_ && epoch_.value != 0;
  add(tally_.candidates, is_candidate);
  add(tally_.holding, x.holds.value != 0);
  add(tally_.members, is_member);
  add(tally_.starting, is_member && x.share == share_state::starting);
  add(tally_.unfinished, is_member && x.share != share_state::succeeded);
  add(tally_.newcomers, is_candidate && !is_member);
}

void rendezvous::recount() {
  tally_ = {};
  for (const auto& [id, record] : agents_)
    count(record, +1);
}

void rendezvous::arm(alarm which, time_point due, effects& out) {
  ++last_timer_.value;
  alarms_[which] = {last_timer_, due};
  out.emplace_back(arm_timer{last_timer_, due});
}

} // namespace actorrun::core
