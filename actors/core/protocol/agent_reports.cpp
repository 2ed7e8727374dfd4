#include "actors/core/protocol/agent_reports.hpp"

#include "actors/core/text.hpp"

#include <chrono>
#include <string>

namespace actorrun::core {

namespace {

/// Workers that live on a node without a place wait for one so long.
constexpr auto idle_workers_max = std::chrono::minutes{1};

//// By which operator; empty: by none.
leave_order order_of(const agent_record* x) {
  return x != nullptr ? order_to_leave(*x) : leave_order{};
}

} // namespace

void agent_reports::arm() {
  if (const auto due = leases_.next_due(); due && !step_.is_armed(alarm::lease))
    step_.arm(alarm::lease, *due);
}

void agent_reports::on(const leases_renewed& event) {
  for (const auto& x : event.renewals)
    if (leases_.contains(x.agent))
      leases_.renew(x.agent, x.heard);
}

void agent_reports::on(const agent_disconnected& event) {
  auto* record = agents_.find(event.agent);
  if (record == nullptr)
    return;
  if (!record->offering.leased) {
    lose(event.agent, agent_has_ended(event.agent));
    return;
  }
  agents_.change(*record, [](auto& x) { x.connected = false; });
  costs_.node_is_away(event.agent);
  step_.add(probe_agent{event.agent});
}

void agent_reports::on(const agent_lost& event) {
  // A link that came back in the meantime proves the evidence wrong.
  if (auto* record = agents_.find(event.agent); record && !record->connected)
    lose(event.agent, agent_is_lost(event.agent, event.evidence));
}

void agent_reports::on(const agent_leaving& event) {
  auto* record = agents_.find(event.agent);
  if (record == nullptr)
    return;
  agents_.change(*record, [](auto& x) { x.leaving = true; });
  const auto reason
    = agent_leaves(event.agent, event.signal, order_to_leave(*record));
  generation_.add_departure(*record, reason);
  if (job_.is_active() && agents_.is_at_work(*record))
    generation_.revoke(reason);
}

void agent_reports::on(const agent_left& event) {
  const auto order = order_of(agents_.find(event.agent));
  lose(event.agent, agent_has_left(event.agent, order));
}

void agent_reports::lose(const agent_id& agent, const end_reason& reason) {
  const auto* record = agents_.find(agent);
  if (record == nullptr)
    return;
  const auto is_missed = job_.is_active() && agents_.is_at_work(*record);
  // An agent in quarantine leaves because of its own workers: that exempts
  // no failure.
  if (!quarantine_.contains(agent))
    generation_.add_departure(*record, reason);
  agents_.remove(agent, reason.text);
  leases_.drop(agent);
  costs_.node_is_gone(agent);
  step_.add(forget_agent{agent, reason.text});
  if (is_missed)
    generation_.revoke(reason);
}

// -- of their workers ---------------------------------------------------------

void agent_reports::on(const workers_started& event) {
  auto* record = agents_.find_member(event.agent, event.generation);
  if (record != nullptr && record->share == share_state::starting)
    agents_.change(*record, [](auto& x) { x.share = share_state::running; });
}

void agent_reports::on(const worker_failed& event) {
  auto* record = agents_.find_member(event.agent, event.generation);
  if (record == nullptr || record->holds != event.generation)
    return;
  agents_.change(*record, [](auto& x) { x.share = share_state::failed; });
  generation_.add(event.agent, {{event.failure}, 0});
  if (job_.is_active())
    generation_.fail();
}

void agent_reports::on(const workers_succeeded& event) {
  auto* record = agents_.find(event.agent);
  if (record == nullptr || record->holds != event.generation)
    return;
  const auto counts
    = agents_.find_member(event.agent, event.generation) != nullptr;
  agents_.change(*record, [counts](auto& x) {
    x.share = counts ? share_state::succeeded : share_state::idle;
    x.holds = {};
  });
  if (counts)
    regrouping_.leave(event.agent);
}

// An agent whose workers have outlived SIGKILL leaves, and is quarantined.
void agent_reports::on(const workers_stopped& event) {
  auto* record = agents_.find(event.agent);
  if (record == nullptr)
    return;
  if (event.master_port != 0)
    record->offering.master_port = event.master_port;
  if (record->holds != event.generation) {
    if (record->holds.value == 0) // Fewer are left, or they were started ahead.
      record->set_parked(event.parked, step_.now());
    if (record->ahead_of == event.generation)
      record->is_awaited = false;
    return;
  }
  agents_.change(*record, [&](auto& x) {
    x.share = share_state::idle;
    x.holds = {};
    x.leaving |= event.unkillable_count > 0;
  });
  record->set_parked(event.parked, step_.now());
  if (event.unkillable_count > 0)
    quarantine_.add(
      {event.agent, record->offering.host, event.unkillable_count});
  if (agents_.find_member(event.agent, event.generation) == nullptr)
    return;
  if (event.unkillable_count > 0)
    generation_.note_unkillable();
  generation_.add(event.agent, event.others);
  if (event.step)
    generation_.note_step(*event.step);
  if (job_.is_active())
    generation_.revoke(agent_was_cut_off(event.agent, true));
}

// -- what they do not report --------------------------------------------------

// If the coordinator's own timer is late, the coordinator got no CPU time, and
// keep-alives may be waiting in its mailbox.
void agent_reports::on_lease_due(time_point due) {
  const auto late = step_.now() - due;
  if (late > limits_.keep_alive_interval)
    leases_.stretch(late + limits_.keep_alive_interval);
  const auto silent
    = "silent for " + std::to_string(limits_.lease().count()) + " ms";
  for (const auto& agent : leases_.expire(step_.now())) {
    const auto* x = agents_.find(agent);
    lose(agent, agent_is_lost(agent, x != nullptr && x->given_up
                                       ? "has not stopped its workers within "
                                           + duration_text(x->stop_limit)
                                       : silent));
  }
  if (agents_.counts().holding > 0)
    give_up_overdue();
  if (job_.is_active() && agents_.records().size() > agents_.counts().members)
    end_idle_workers();
}

// Whenever leases are looked at: of those that have none, this process ends all.
// They may be late.
void agent_reports::give_up_overdue() {
  for (const auto& [id, x] : agents_.records()) {
    if (x.holds.value == 0 || !x.stop_due || *x.stop_due > step_.now()
        || x.given_up || !x.offering.leased)
      continue;
    agents_.change(*agents_.find(id), [](auto& y) {
      y.given_up = true;
      y.connected = false;
    });
    costs_.node_is_away(id);
    step_.add(give_up_agent{id, "has not stopped its workers within "
                                  + duration_text(x.stop_limit)});
  }
}

// Others have gone on without them, so what they have in memory is old. Whenever
// leases are looked at. Newcomers may have to wait for each other.
void agent_reports::end_idle_workers() {
  for (const auto& [id, x] : agents_.records()) {
    if (!x.parked_since || step_.now() - *x.parked_since < idle_workers_max
        || !x.connected || (step_.is_armed(alarm::ahead) && x.is_candidate()))
      continue;
    step_.add(revoke_generation{
      x.parked.generation == generation_id{} ? x.ahead_of : x.parked.generation,
      {id},
      {"this node has had no place for " + duration_text(idle_workers_max)},
      std::nullopt,
      true});
    agents_.find(id)->set_parked({}, step_.now());
  }
}

} // namespace actorrun::core
