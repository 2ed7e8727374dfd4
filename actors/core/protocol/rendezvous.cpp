#include "actors/core/protocol/rendezvous.hpp"

#include "actors/core/protocol/admission.hpp"
#include "actors/core/protocol/operator_desk.hpp"
#include "actors/core/protocol/rank_assignment.hpp"
#include "actors/core/text.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace actorrun::core {

namespace {

/// How long a stop of workers takes at the most: where an agent does not say so, …
constexpr auto usual_stop_limit = std::chrono::minutes{2};
/// … and whatever it says.
constexpr auto longest_stop_limit = std::chrono::hours{1};

/// Workers that live on a node without a place wait for one so long.
constexpr auto idle_workers_max = std::chrono::minutes{1};

/// Newcomers whose workers are started ahead get so long to be ready.
constexpr auto ahead_max = std::chrono::minutes{5};

//// By which operator; empty: by none.
std::string asked_to_leave_by(const agent_record* x) {
  return x != nullptr && x->is_draining() ? x->drain->by : std::string{};
}

/// An exempt failure does not end a job: names an unkillable worker, if there
/// is one, as the first failure instead.
void attribute_unkillable(outcome& how) {
  if (how.first_failure->kind == failure_kind::unkillable)
    return;
  const auto i = std::ranges::find(how.other_failures, failure_kind::unkillable,
                                   &worker_failure::kind);
  if (i != how.other_failures.end())
    std::swap(*i, *how.first_failure);
}

} // namespace

rendezvous::rendezvous(job_settings settings, timeouts limits,
                       uint32_t exclude_after)
  : limits_(limits), orders_(settings, limits.lease()), agents_(settings),
    leases_(limits.lease()), policy_(settings.restart_count_max),
    costs_(limits.join_settle, limits.rejoin_backoff, exclude_after) {
  assert(settings.agent_count_min >= 1);
  assert(settings.agent_count_min <= settings.agent_count_max);
  assert(settings.agent_count_max <= agents_per_generation_max);
  assert(!settings.ranked
         || settings.agent_count_min == settings.agent_count_max);
}

std::vector<rendezvous_effect> rendezvous::step(const rendezvous_event& event,
                                                time_point now) {
  now_ = now;
  if (end_.is_closed)
    return {};
  std::visit([this](const auto& x) { on(x); }, event);
  begin_waiting_drains();
  auto before = phase_;
  do {
    before = phase_;
    advance();
  } while (phase_ != before);
  note_charter();
  if (const auto due = leases_.next_due();
      due && !alarms_.is_armed(alarm::lease))
    arm(alarm::lease, *due);
  if (const auto due = costs_.next_due();
      due && phase_ != phase::ended && !alarms_.is_armed(alarm::stand_by))
    arm(alarm::stand_by, *due);
  // An operator may have asked for fewer nodes.
  assert(member_count() <= settings().agent_count_max || !is_active()
         || round_.is_active() || is_finishing(agents_));
  return std::exchange(out_, {});
}

// -- agents come and go -------------------------------------------------------

void rendezvous::on(const coordinator_started& event) {
  end_.writes = event.writes_outcome;
  recovery_.see(event.known.newest);
  orders_.begin(event.known, event.names_hosts, event.successor, now_);
  if (event.decided) {
    phase_ = phase::ended;
    end_.result = event.decided;
    end_.was_before = end_.is_told = true;
    return arm(alarm::close, now_ + limits_.close);
  }
  if (!event.successor) {
    recovery_.close(now_);
    return recovery_.see(event.unseen);
  }
  recovery_.listen(event.unseen, now_);
  know_lease(std::max(limits_.lease(), event.known.lease));
}

void rendezvous::on(const agent_joined& event) {
  const auto& agent = event.offering.agent;
  // It is of the next job with this name.
  if (end_.was_before && !event.held && !event.told) {
    out_.emplace_back(reject_agent{
      agent, errc::connection_failed,
      "the job before has ended here, and its last nodes are told; try again"});
    return;
  }
  const auto entry
    = admission{agents_, orders_, recovery_, leases_, limits_, now_};
  if (auto why = entry.refusal(event)) {
    out_.emplace_back(reject_agent{agent, why->code, std::move(why->text)});
    return;
  }
  auto* record = agents_.find(agent);
  if (record == nullptr) {
    quarantine_.clear(event.offering.host);
    newcomers_.add_arrival(now_);
    record = &agents_.add(event.offering);
    follow_drain(*record);
  } else {
    agents_.change(*record, [&](auto& x) {
      x.offering = event.offering;
      x.connected = true;
    });
  }
  record->stop_limit = std::min<duration>(
    event.stop_limit > duration::zero() ? event.stop_limit : usual_stop_limit,
    longest_stop_limit);
  record->is_address_unproved = event.is_address_unproved;
  record->ahead_of = {}; // It says again who waits there, if it is asked.
  record->is_awaited = false;
  if (event.told)
    hear(agent, *event.told);
  agents_.set_excluded(*record,
                       orders_.excluded().find(event.offering.host) != nullptr);
  costs_.node_is_here(agent, event.offering.host, now_);
  agents_.change(*record,
                 [&](auto& x) { x.stands_by = costs_.stands_by(agent); });
  if (event.offering.leased)
    leases_.renew(agent, now_);
  out_.emplace_back(accept_agent{agent});
  if (phase_ == phase::ended && end_.is_told)
    out_.emplace_back(end_job{*end_.result, {agent}});
  else if (phase_ != phase::ended)
    reconcile(*record, event.held);
  // The notice may have been lost with the link.
  if (phase_ != phase::ended && record->is_draining())
    notify(*record);
}

void rendezvous::on(const leases_renewed& event) {
  for (const auto& x : event.renewals)
    if (leases_.contains(x.agent))
      leases_.renew(x.agent, x.heard);
}

void rendezvous::on(const agent_disconnected& event) {
  auto* record = agents_.find(event.agent);
  if (record == nullptr)
    return;
  if (!record->offering.leased) {
    lose(event.agent, agent_has_ended(event.agent));
    return;
  }
  agents_.change(*record, [](auto& x) { x.connected = false; });
  costs_.node_is_away(event.agent);
  out_.emplace_back(probe_agent{event.agent});
}

void rendezvous::on(const agent_lost& event) {
  // A link that came back in the meantime proves the evidence wrong.
  if (auto* record = agents_.find(event.agent); record && !record->connected)
    lose(event.agent, agent_is_lost(event.agent, event.evidence));
}

void rendezvous::on(const agent_leaving& event) {
  auto* record = agents_.find(event.agent);
  if (record == nullptr)
    return;
  agents_.change(*record, [](auto& x) { x.leaving = true; });
  const auto reason
    = agent_leaves(event.agent, event.signal, asked_to_leave_by(record));
  add_departure(*record, reason);
  if (!is_active() || record->member_of != generation()
      || record->share == share_state::succeeded)
    return;
  revoke(reason, std::nullopt);
}

void rendezvous::on(const agent_left& event) {
  const auto by = asked_to_leave_by(agents_.find(event.agent));
  lose(event.agent, agent_has_left(event.agent, by));
}

void rendezvous::lose(const agent_id& agent, const end_reason& reason) {
  const auto* record = agents_.find(agent);
  if (record == nullptr)
    return;
  const auto is_missed = is_active() && record->member_of == generation()
                         && record->share != share_state::succeeded;
  // An agent in quarantine leaves because of its own workers: that exempts
  // no failure.
  if (!quarantine_.contains(agent))
    add_departure(*record, reason);
  agents_.remove(agent, reason.text);
  leases_.drop(agent);
  costs_.node_is_gone(agent);
  out_.emplace_back(forget_agent{agent, reason.text});
  if (is_missed)
    revoke(reason, std::nullopt);
}

// If the coordinator's own timer is late, the coordinator got no CPU time, and
// keep-alives may be waiting in its mailbox.
void rendezvous::expire_leases(time_point due) {
  const auto late = now_ - due;
  if (late > limits_.keep_alive_interval)
    leases_.stretch(late + limits_.keep_alive_interval);
  const auto silent
    = "silent for " + std::to_string(limits_.lease().count()) + " ms";
  for (const auto& agent : leases_.expire(now_)) {
    const auto* x = agents_.find(agent);
    lose(agent, agent_is_lost(agent, x != nullptr && x->given_up
                                       ? "has not stopped its workers within "
                                           + duration_text(x->stop_limit)
                                       : silent));
  }
  if (agents_.counts().holding > 0)
    give_up_overdue();
  if (is_active() && agents().size() > agents_.counts().members)
    end_idle_workers();
}

// -- what agents claim to hold ------------------------------------------------

void rendezvous::reconcile(agent_record& record,
                           const std::optional<claim>& held) {
  const auto& agent = record.offering.agent;
  record.set_parked(
    held && !may_run(held->state) ? held->parked : parked_share{}, now_);
  if (held && held->drain_left
      && !record.drain) // Another coordinator knows why.
    agents_.change(record, [&](auto& x) {
      const auto left
        = std::clamp<duration>(*held->drain_left, duration{0}, drain_time_max);
      x.drain = drain_order{"an operator", left, now_ + left, false, now_};
    });
  if (held) {
    recovery_.see(held->plan.generation);
    policy_.restore(held->plan.restart_count);
  } else {
    recovery_.forget(agent);
  }
  if (held && recovery_.is_claim_odd(generation()))
    hold_back_until(now_ + limits_.lease());
  if (held && recovery_.is_open()
      && (recovery_.is_listening()
          || (held->plan.generation >= generation()
              && held->plan.node_count >= settings().agent_count_min)))
    return recover(record, *held);
  if (record.holds == generation()
      && (is_active() || phase_ == phase::stopping)) {
    const auto is_current = held && held->plan.generation == generation();
    if (phase_ == phase::stopping) {
      if (is_current && held->failure)
        add_failures(agent, {{*held->failure}, 0});
      out_.emplace_back(
        revoke_generation{generation(), {agent}, reason_, std::nullopt});
    } else if (is_current) {
      resume(record, *held);
    } else { // The link broke before the plan had arrived.
      out_.emplace_back(
        announce_generation{{agents_.plan_for(record)}, reason_.text});
    }
    return;
  }
  const auto runs = held && may_run(held->state);
  agents_.change(record, [&](auto& x) {
    x.holds = runs ? held->plan.generation : generation_id{};
  });
  if (!runs)
    return;
  record.expect_stop(now_);
  out_.emplace_back(revoke_generation{held->plan.generation,
                                      {agent},
                                      {"the generation is over"},
                                      std::nullopt,
                                      true});
}

// A member of the running generation is back after its link broke.
void rendezvous::resume(agent_record& record, const claim& held) {
  const auto agent = record.offering.agent;
  if (held.failure || held.state == share_state::failed)
    on(worker_failed{agent, generation(),
                     held.failure.value_or(worker_failure{})});
  switch (held.state) {
    case share_state::starting:
      return;
    case share_state::running:
      on(workers_started{agent, generation()});
      if (is_active() && round_.is_active()) // The order may have been lost.
        send_order({agent}, reason_of_round());
      return;
    case share_state::succeeded:
      return on(workers_succeeded{agent, generation()});
    case share_state::failed:
      return;
    case share_state::idle:
      return on(workers_stopped{
        .agent = agent, .generation = generation(), .parked = record.parked});
    case share_state::stopping:
      if (is_active())
        revoke(agent_was_cut_off(agent, false), std::nullopt);
      return;
  }
}

// An agent of an earlier coordinator's generation.
void rendezvous::recover(agent_record& record, const claim& held) {
  const auto progress
    = recovery_.take(agents_, record, held, settings().agent_count_min);
  if (progress.has_begun) {
    phase_ = phase::gathering; // Whoever listens makes no last call.
    hold_back_until(now_ + limits_.lease());
  }
  if (progress.is_newer)
    failures_.clear();
  if (progress.failure)
    add_failures(record.offering.agent, {{*progress.failure}, 0});
  if (progress.is_complete)
    conclude_recovery();
}

void rendezvous::know_lease(duration lease) {
  const auto longest = std::chrono::ceil<std::chrono::milliseconds>(
    std::min<duration>(lease, lease_max));
  orders_.know_lease(longest);
  if (recovery_.know_lease(longest, now_))
    arm(alarm::recovery, recovery_.hold_back_end());
}

void rendezvous::hold_back_until(time_point end) {
  if (recovery_.hold_back_until(end, now_))
    arm(alarm::recovery, end);
}

// One agent is believed that it may have workers, and nothing else.
void rendezvous::hear(const agent_id& agent, const charter& told) {
  if (told.newest < claimed_generation_end)
    recovery_.see(told.newest);
  if (!recovery_.is_learning(now_))
    return;
  know_lease(told.lease);
  const auto known = orders_.hear(agent, told, now_);
  if (!known)
    return;
  policy_.set_maximum(settings().restart_count_max);
  policy_.restore(known->restart_count);
  costs_.know_failures(known->failing);
  agents_.resize(settings().agent_count_max);
  for (const auto& [id, x] : agents_.records()) {
    auto& record = *agents_.find(id);
    agents_.set_excluded(record,
                         orders_.excluded().find(x.offering.host) != nullptr);
    follow_drain(record);
  }
}

// An earlier coordinator has promised it, or none has.
void rendezvous::follow_drain(agent_record& record) const {
  const auto* x = orders_.find_drain(record.offering.agent);
  if (x == nullptr && record.waits_to_drain())
    record.drain.reset();
  else if (x != nullptr && !record.drain)
    record.drain = drain_order{.by = x->by, .time = x->time, .asked = now_};
}

charter rendezvous::job() const {
  auto out = orders_.told();
  out.newest = highest_number();
  return out;
}

void rendezvous::note_charter() {
  const auto is_news
    = orders_.revise(policy_.restart_count(), costs_.failing_hosts(),
                     recovery_.is_learning(now_), !recovery_.is_open());
  if (!is_news || phase_ == phase::ended)
    return;
  auto order = tell_charter{};
  for (const auto& [id, x] : agents())
    if (x.connected)
      order.agents.push_back(id);
  if (!order.agents.empty())
    out_.emplace_back(std::move(order));
}

void rendezvous::conclude_recovery() {
  for (auto which :
       {alarm::recovery, alarm::join, alarm::quiet, alarm::last_call})
    alarms_.disarm(which);
  const auto found = recovery_.conclude(agents_);
  for (const auto& x : found.stale) {
    out_.emplace_back(revoke_generation{
      x.generation, {x.agent}, {"the generation is over"}, {}, true});
    if (auto* record = agents_.find(x.agent))
      record->expect_stop(now_);
  }
  if (!found.has_generation)
    return;
  // An operator may have given the job other numbers of nodes before. An order that
  // is known counts more than a generation that was to be ended for it.
  const auto count = common_plan().node_count;
  if (!settings().ranked && orders_.resize_reason().empty()
      && count <= agents_per_generation_max
      && count > settings().agent_count_max) {
    orders_.raise_maximum(count,
                          {"generation " + to_string(generation())
                           + " was found with " + counted(count, "node")});
    agents_.resize(count);
  }
  if (found.is_done && failures_.empty())
    return end_unproved(found);
  phase_ = phase::starting; // Or running: `supervise` looks.
  costs_.generation_begins(now_);
  const auto is_incomplete
    = found.member_count < common_plan().node_count
      || common_plan().node_count < settings().agent_count_min;
  const auto of_all = " of " + counted(common_plan().node_count, "agent")
                      + " of generation " + to_string(generation());
  const auto news
    = is_incomplete
        ? std::to_string(found.member_count) + of_all
            + " came back to the new coordinator"
        : std::to_string(found.stopped_count) + of_all
            + " came back to the new coordinator without their workers";
  if (!failures_.empty()) {
    fail();
    add_departures_of_recovery(news);
  } else if (is_incomplete || found.stopped_count > 0) {
    revoke({news}, std::nullopt);
  }
}

// All members that are back have succeeded, and so may the others have: who has
// learned that the job has ended has gone. It is not run again.
void rendezvous::end_unproved(const generation_recovery::findings& found) {
  const auto count = common_plan().node_count;
  const auto is_whole
    = found.member_count == count && count >= settings().agent_count_min;
  // Whose workers run in another generation shows that this one was not the last,
  // unless all others of it are here to say so.
  if (found.is_contradicted && (!is_whole || found.member_count == 1)) {
    agents_.dismiss_members();
    reason_
      = {"workers of several generations came back to the new coordinator"};
    return;
  }
  phase_ = phase::running;
  costs_.generation_begins(now_);
  if (is_whole)
    return;
  end({.kind = outcome::verdict::unmet,
       .first_failure = {},
       .signal = 0,
       .reason
       = "the workers of generation " + to_string(generation()) + " on "
         + std::to_string(found.member_count) + " of " + counted(count, "node")
         + " have succeeded, and the others did not come back to the new"
           " coordinator: nothing shows whether the job has, and it is not"
           " run again"});
}

// Agents that were lost while there was no coordinator, or that were lost or
// wanted to leave while this one listened.
void rendezvous::add_departures_of_recovery(const std::string& news) {
  const auto missing_count
    = common_plan().node_count - agents_.counts().members;
  const auto& failed = failures_.first().agent;
  const auto is_failed_missing
    = agents_.find_member(failed, generation()) == nullptr;
  if (missing_count == 1 && is_failed_missing)
    failures_.add_departure(failed, {news});
  else if (missing_count > 0)
    failures_.add_departure({}, {news});
  for (const auto& [id, x] : agents_.records())
    if (x.leaving && !quarantine_.contains(id))
      add_departure(x, agent_leaves(id, 0, ""));
  update_cause();
}

// -- workers start and end ----------------------------------------------------

void rendezvous::on(const workers_started& event) {
  auto* record = agents_.find_member(event.agent, event.generation);
  if (record != nullptr && record->share == share_state::starting)
    agents_.change(*record, [](auto& x) { x.share = share_state::running; });
}

void rendezvous::on(const worker_failed& event) {
  auto* record = agents_.find_member(event.agent, event.generation);
  if (record == nullptr || record->holds != event.generation)
    return;
  agents_.change(*record, [](auto& x) { x.share = share_state::failed; });
  add_failures(event.agent, {{event.failure}, 0});
  if (is_active())
    fail();
}

void rendezvous::on(const workers_succeeded& event) {
  auto* record = agents_.find(event.agent);
  if (record == nullptr || record->holds != event.generation)
    return;
  const auto counts
    = agents_.find_member(event.agent, event.generation) != nullptr;
  agents_.change(*record, [counts](auto& x) {
    x.share = counts ? share_state::succeeded : share_state::idle;
    x.holds = {};
  });
  if (counts && round_.is_active() && agents_.counts().unfinished > 0)
    follow_round(round_.leave(event.agent));
}

void rendezvous::on(const workers_stopped& event) {
  auto* record = agents_.find(event.agent);
  if (record == nullptr)
    return;
  if (event.master_port != 0)
    record->offering.master_port = event.master_port;
  if (record->holds != event.generation) {
    if (record->holds.value == 0) // Fewer are left, or they were started ahead.
      record->set_parked(event.parked, now_);
    if (record->ahead_of == event.generation)
      record->is_awaited = false;
    return;
  }
  agents_.change(*record, [](auto& x) {
    x.share = share_state::idle;
    x.holds = {};
  });
  record->set_parked(event.parked, now_);
  if (event.unkillable_count > 0)
    put_in_quarantine(*record, event.unkillable_count);
  if (agents_.find_member(event.agent, event.generation) == nullptr)
    return;
  if (event.unkillable_count > 0)
    failures_.note_unkillable();
  add_failures(event.agent, event.others);
  if (is_active())
    revoke(agent_was_cut_off(event.agent, true), std::nullopt);
}

// Others have gone on without them, so what they have in memory is old. Whenever
// leases are looked at. Newcomers may have to wait for each other.
void rendezvous::end_idle_workers() {
  for (const auto& [id, x] : agents()) {
    if (!x.parked_since || now_ - *x.parked_since < idle_workers_max
        || !x.connected || (alarms_.is_armed(alarm::ahead) && x.is_candidate()))
      continue;
    out_.emplace_back(revoke_generation{
      x.parked.generation == generation_id{} ? x.ahead_of : x.parked.generation,
      {id},
      {"this node has had no place for " + duration_text(idle_workers_max)},
      std::nullopt,
      true});
    agents_.find(id)->set_parked({}, now_);
  }
}

// Whenever leases are looked at: of those that have none, this process ends all.
// They may be late.
void rendezvous::give_up_overdue() {
  for (const auto& [id, x] : agents()) {
    if (x.holds.value == 0 || !x.stop_due || *x.stop_due > now_ || x.given_up
        || !x.offering.leased)
      continue;
    agents_.change(*agents_.find(id), [](auto& y) {
      y.given_up = true;
      y.connected = false;
    });
    costs_.node_is_away(id);
    out_.emplace_back(give_up_agent{id, "has not stopped its workers within "
                                          + duration_text(x.stop_limit)});
  }
}

void rendezvous::put_in_quarantine(agent_record& record,
                                   uint32_t unkillable_count) {
  const auto& x = record.offering;
  quarantine_.add({x.agent, x.host, unkillable_count});
  agents_.change(record, [](auto& y) { y.leaving = true; });
}

// -- changes that can wait for a safe point -------------------------------------

// A member may answer an order of a coordinator that is gone, or one that has been
// called off while it was out of touch.
void rendezvous::on(const safe_point_reported& event) {
  auto* record = agents_.find_member(event.agent, event.generation);
  if (record == nullptr || record->holds != event.generation
      || phase_ == phase::stopping || phase_ == phase::ended)
    return;
  using kind = safe_point_report::kind;
  const auto& report = event.report;
  record->steps_in = event.generation;
  if (report.what == kind::wanted)
    return save_.want(now_ + report.left);
  if (round_.is_active())
    follow_round(round_.take(event.agent, report));
  else if (report.may_hold())
    send_order({event.agent}, "nothing is to change");
}

// No generation ends for it: if a worker fails meanwhile, those of the next are
// asked.
void rendezvous::save_before_limit() {
  const auto limit = *save_.limit();
  if (now_ >= limit)
    save_.drop();
  else if (have_safe_points())
    begin_round(std::min<duration>(limits_.safe_point, limit - now_));
}

void rendezvous::make_change(const group_change& x) {
  if (have_safe_points())
    begin_round(limits_.safe_point);
  else
    revoke_for(x);
}

void rendezvous::revoke_for(const group_change& x) {
  revoke(x.reason, std::nullopt);
  auto let_in = std::vector<agent_id>{};
  for (const auto& [id, y] : agents())
    if (x.what == group_change::kind::newcomers && y.is_candidate()
        && y.member_of != generation())
      let_in.push_back(id);
  newcomers_.set_let_in(std::move(let_in));
}

bool rendezvous::have_safe_points() const {
  return limits_.safe_point.count() > 0 && phase_ == phase::running
         && agents_.counts().starting == 0
         && std::ranges::any_of(agents(), [this](const auto& entry) {
              const auto& x = entry.second;
              return x.member_of == generation() && x.steps_in == generation();
            });
}

void rendezvous::begin_round(duration time) {
  auto members = agents_.busy_members();
  round_.begin(members, now_);
  newcomers_.end();
  alarms_.disarm(alarm::settle);
  alarms_.disarm(alarm::ahead);
  arm(alarm::safe_point, now_ + time);
  send_order(std::move(members), reason_of_round());
}

void rendezvous::follow_round(safe_point_round::progress x) {
  switch (x) {
    case safe_point_round::progress::none:
      return;
    case safe_point_round::progress::all_hold:
      return send_order(agents_.busy_members(), reason_of_round());
    case safe_point_round::progress::all_there:
      return conclude_round({});
    case safe_point_round::progress::refused:
      return conclude_refused_round();
  }
}

// Workers without safe points get notice, and the time that was promised.
void rendezvous::conclude_refused_round() {
  constexpr auto what_is_amiss = "some workers cannot be told where to stop";
  if (change().what != group_change::kind::drain)
    return conclude_round(what_is_amiss);
  save_.settle();
  for (const auto& [id, x] : agents())
    if (x.is_draining() && x.drain->at_safe_point && x.holds == generation()) {
      auto& record = *agents_.find(id);
      record.drain->at_safe_point = false;
      notify(record);
    }
  call_off_round(what_is_amiss);
}

// If they were only to save, they go on.
void rendezvous::conclude_round(const std::string& what_is_amiss) {
  const auto was_to_save = save_.settle();
  if (auto x = change_now(); !x.reason.empty()) {
    x.reason.text += (what_is_amiss.empty() ? "" : "; ") + what_is_amiss;
    revoke_for(x);
  } else if (!what_is_amiss.empty()) {
    call_off_round("they have not saved: " + what_is_amiss);
  } else if (was_to_save) {
    call_off_round("all have saved at step "
                   + std::to_string(round_.order().step));
  }
}

void rendezvous::call_off_round(std::string reason) {
  round_.end();
  send_order(agents_.busy_members(), std::move(reason));
  alarms_.disarm(alarm::safe_point);
}

std::string rendezvous::reason_of_round() const {
  auto reason = change_now().reason;
  return reason.empty() && save_.limit() ? "the time limit of the job is near"
                                         : reason.text;
}

// Nodes that have come may have left again, and others have come.
group_change rendezvous::change_now() const {
  auto out = change();
  if (out.what == group_change::kind::newcomers
      && now_ < costs_.newcomers_due())
    out = {};
  return out;
}

void rendezvous::send_order(std::vector<agent_id> agents, std::string reason) {
  out_.emplace_back(send_safe_point_order{generation(), std::move(agents),
                                          round_.order(), std::move(reason)});
}

// -- what operators ask -------------------------------------------------------

void rendezvous::on(const stop_requested& event) {
  const auto is_asked = !event.by.empty();
  const auto because = event.reason.empty() ? "" : ": " + event.reason;
  if (phase_ == phase::ended) {
    if (is_asked)
      out_.emplace_back(answer_operator{event.by, "stop", errc::bad_argument,
                                        operator_view_now().why_not_now});
    return;
  }
  if (is_asked)
    out_.emplace_back(
      answer_operator{event.by, "stop" + because, errc::none,
                      "the job is being stopped; its nodes end with code "
                        + std::to_string(128 + event.signal)});
  end({.kind = outcome::verdict::stopped,
       .first_failure = {},
       .signal = event.signal,
       .reason = is_asked ? "the job was stopped by " + event.by + because
                          : "the job was asked to end by signal "
                              + std::to_string(event.signal)});
}

operator_view rendezvous::operator_view_now() const {
  auto out = operator_view{.now = now_,
                           .is_active = is_active(),
                           .is_finishing = is_finishing(agents_),
                           .has_safe_points = have_safe_points()};
  if (phase_ == phase::ended)
    out.why_not_now = "the job has ended: " + end_.result->reason;
  else if (recovery_.is_listening())
    out.why_not_now
      = "the coordinator has just begun, and waits for the nodes of the one"
        " before it; ask again in a few seconds";
  if (phase_ == phase::stopping)
    out.why_no_generation = "generation " + to_string(generation())
                            + " is being stopped already (" + reason_.text
                            + ")";
  else if (!is_active())
    out.why_no_generation = "no generation runs: " + waiting_for();
  return out;
}

template <class Request>
void rendezvous::on(const Request& request) {
  const auto view = operator_view_now();
  carry_out(operator_desk{agents_, orders_, view}.decide(request), request.by);
}

void rendezvous::carry_out(operator_decision x, const std::string& by) {
  for (const auto& agent : x.no_longer_stand_by)
    if (agents().at(agent).stands_by)
      out_.emplace_back(
        stand_by_now().let_in(agents().at(agent), "asked for by " + by));
  if (!x.forgiven_host.empty())
    costs_.forgive(x.forgiven_host);
  if (const auto count = agents_.counts().newcomers;
      !x.admission.empty() && is_active() && count > x.newcomers_before)
    newcomers_.admit(std::move(x.admission), count - x.newcomers_before);
  if (x.begins_to_leave)
    begin_drain(*agents_.find(*x.begins_to_leave));
  if (x.level)
    out_.emplace_back(std::move(*x.level));
  out_.emplace_back(answer_operator{
    by, std::move(x.what), x.answer ? errc::none : x.answer.error().code,
    x.answer ? *x.answer : x.answer.error().text});
  if (x.hands_over)
    out_.emplace_back(std::move(*x.hands_over));
  if (x.ends_generation)
    revoke(*x.ends_generation, std::nullopt);
}

void rendezvous::begin_drain(agent_record& record) {
  const auto at_safe_point = agents_.runs_current(record) && have_safe_points();
  agents_.change(record, [&](auto& x) {
    x.drain->due = now_ + x.drain->time;
    x.drain->at_safe_point = at_safe_point;
  });
  notify(record);
  if (!at_safe_point)
    return;
  // Its workers have been promised that time.
  const auto due
    = now_ + std::max<duration>(record.drain->time, limits_.safe_point);
  if (!round_.is_active())
    begin_round(due - now_);
  else if (alarms_.due(alarm::safe_point) < due)
    arm(alarm::safe_point, due);
}

void rendezvous::notify(const agent_record& record) {
  const auto& drain = *record.drain;
  out_.emplace_back(notify_drain{
    record.offering.agent, std::max(*drain.due - now_, duration{0}),
    "asked for by " + drain.by, drain.at_safe_point});
}

// One after the other: the first may take the place that the second waits for.
void rendezvous::begin_waiting_drains() {
  if (orders_.drains().empty() || phase_ == phase::ended)
    return;
  orders_.erase_drains([&](const pending_drain& x) {
    auto* record = agents_.find(x.agent);
    if (record == nullptr) // It may be of those that have yet to come back.
      return !recovery_.is_learning(now_);
    if (record->leaving || !record->waits_to_drain())
      return true;
    if (!record->connected
        || !agents_.is_replaced(*record, settings().agent_count_min))
      return false;
    begin_drain(*record);
    return true;
  });
}

// A host that is not excluded, because too few are left, comes up again with its
// next failure.
void rendezvous::count_failure(const worker_failure& x) {
  const auto& hosts = orders_.excluded();
  const auto view = operator_view_now();
  auto desk = operator_desk{agents_, orders_, view};
  if (!costs_.add_failure(x.host) || hosts.find(x.host) != nullptr
      || hosts.is_full() || !desk.can_spare_host(x.host))
    return;
  const auto reason
    = std::to_string(costs_.failure_count(x.host))
      + " failures there have cost a restart, the last: " + to_string(x);
  desk.exclude({x.host, reason, "", now_});
  out_.emplace_back(report_exclusion{x.host, reason});
}

// -- timers -------------------------------------------------------------------

void rendezvous::on(const timer_fired& event) {
  const auto fired = alarms_.take(event.timer);
  if (!fired)
    return;
  switch (fired->which) {
    case alarm::lease:
      return expire_leases(fired->due);
    case alarm::join:
      return end({.kind = outcome::verdict::unmet,
                  .first_failure = {},
                  .signal = 0,
                  .reason = "only " + wait().nodes_here() + " after "
                            + duration_text(limits_.join)});
    case alarm::last_call:
      hurry_ = true;
      return;
    case alarm::quiet:
      return on_quiet();
    case alarm::settle:
      return; // `supervise` looks.
    case alarm::ahead:
      for (const auto& [id, x] : agents())
        agents_.find(id)->is_awaited = false;
      return;
    case alarm::safe_point:
      if (is_active())
        conclude_round("the workers have come to no safe point in "
                       + duration_text(now_ - round_.began()));
      return;
    case alarm::recovery:
      // No agent of which nothing was heard has workers any more. Whoever moves
      // that moment arms the alarm anew.
      assert(now_ >= recovery_.hold_back_end());
      if (recovery_.is_listening())
        conclude_recovery();
      return;
    case alarm::outcome:
      return on(outcome_written{});
    case alarm::stand_by:
      return report(stand_by_now().let_in_those_due());
    case alarm::close:
      // Workers elsewhere may have longer to stop, as long as their agents hear
      // from us. Those that do not lose their lease.
      if (agents_.counts().holding > 0)
        return arm(alarm::close, now_ + limits_.close);
      end_.is_closed = true;
      out_.emplace_back(close_job{});
      return;
  }
}

// -- what follows, whatever the event was -------------------------------------

void rendezvous::advance() {
  switch (phase_) {
    case phase::gathering:
    case phase::last_call:
      return gather();
    case phase::starting:
    case phase::running:
      return supervise();
    case phase::stopping:
      if (agents_.counts().holding == 0)
        conclude_generation();
      return;
    case phase::ended:
      return close_if_empty();
  }
}

// A job that regroups needs less time than one that starts: its agents run
// already.
duration rendezvous::quiet() const {
  return generation().value == 0 ? limits_.quiet : limits_.join_settle;
}

void rendezvous::gather() {
  const auto& counts = agents_.counts();
  if (!recovery_.is_listening() && counts.holding == 0)
    report(stand_by_now().let_in_for_minimum());
  if (counts.candidates >= settings().agent_count_min)
    alarms_.disarm(alarm::join);
  // Workers of an older generation must have ended everywhere. Their agents report
  // it, or their leases run out.
  if (recovery_.is_listening() || counts.holding > 0)
    return;
  if (recovery_.holds_back(now_)) {
    phase_ = phase::gathering;
    if (!alarms_.is_armed(alarm::recovery))
      arm(alarm::recovery, recovery_.hold_back_end());
    return;
  }
  if (counts.candidates < settings().agent_count_min) {
    phase_ = phase::gathering;
    hurry_ = false;
    alarms_.disarm(alarm::quiet);
    alarms_.disarm(alarm::last_call);
    // Nodes that have yet to come have time; those that have gone for good must
    // not leave a coordinator behind.
    if (agents().empty() && generation().value == 0)
      alarms_.disarm(alarm::join);
    else if (!alarms_.is_armed(alarm::join))
      arm(alarm::join, now_ + limits_.join);
    return;
  }
  if (counts.candidates >= settings().agent_count_max || hurry_)
    return form();
  if (phase_ != phase::last_call) {
    phase_ = phase::last_call;
    arm(alarm::last_call, now_ + limits_.last_call);
    arm(alarm::quiet, now_ + quiet());
  }
}

// Arrivals do not arm this timer again; instead it looks at the last arrival
// when it fires.
void rendezvous::on_quiet() {
  const auto due = newcomers_.last_arrival() + quiet();
  if (due <= now_)
    hurry_ = true;
  else
    arm(alarm::quiet, due);
}

void rendezvous::form() {
  assert(agents_.counts().holding == 0);
  assert(!recovery_.holds_back(now_));
  orders_.settle();
  // Those for whom the last generation was ended have gone again: that was for
  // nothing.
  if (!newcomers_.let_in().empty() && agents_.counts().newcomers == 0)
    costs_.member_departs(now_);
  newcomers_.set_let_in({});
  newcomers_.forget_admission();
  auto plans = agents_.form(recovery_.name_generation(generation()),
                            policy_.restart_count());
  for (auto which : {alarm::quiet, alarm::last_call})
    alarms_.disarm(which);
  phase_ = phase::starting;
  costs_.generation_begins(now_);
  out_.emplace_back(announce_generation{std::move(plans), reason_.text});
}

void rendezvous::supervise() {
  if (agents_.counts().unfinished == 0)
    return end({.kind = outcome::verdict::succeeded,
                .first_failure = {},
                .signal = 0,
                .reason = "all workers of generation " + to_string(generation())
                          + " succeeded"});
  if (agents_.counts().starting == 0)
    phase_ = phase::running;
  if (round_.is_active() && reason_of_round().empty())
    call_off_round("nothing is to change");
  if (round_.is_active())
    return;
  if (const auto x = change(); x.is_due())
    return make_change(x);
  else
    admit_newcomers(x);
  if (save_.limit() && is_active() && !round_.is_active())
    save_before_limit();
}

// They wait for more of them, and for their own workers. If a node is draining, it
// will end this generation in any case, and its workers have been promised some
// time.
void rendezvous::admit_newcomers(const group_change& x) {
  const auto count = agents_.counts().newcomers;
  if (count == 0)
    newcomers_.forget_admission();
  if (x.what != group_change::kind::newcomers) {
    newcomers_.end();
    alarms_.disarm(alarm::settle);
    return alarms_.disarm(alarm::ahead);
  }
  newcomers_.begin(now_);
  const auto is_full = count >= room_in(agents_, orders_);
  const auto due = is_full ? costs_.newcomers_due()
                           : std::max(newcomers_.settled_at(limits_),
                                      costs_.newcomers_due());
  // The timer decides, also if it is late: no other event seems to end a generation.
  const auto armed = alarms_.due(alarm::settle);
  const auto waits = armed && *armed <= due;
  if (alarms_.is_armed(alarm::ahead) || (!waits && due <= now_)) {
    if (!await_newcomers())
      make_change(x);
  } else if (!waits) {
    arm(alarm::settle, due);
  }
}

// Only a generation that can stop between two steps gains by it: another one loses
// the step whenever it ends. One that cannot be ready is not waited for twice.
bool rendezvous::await_newcomers() {
  if (!have_safe_points())
    return false;
  auto order = start_ahead{generation(), common_plan().restart_count, {}};
  auto are_awaited = false;
  for (auto* x : agents_.next_members()) {
    if (x->ahead_of != generation() && x->holds == generation_id{}
        && x->parked.local_ranks.empty()) {
      x->ahead_of = generation();
      x->is_awaited = true;
      order.agents.push_back(x->offering.agent);
    }
    are_awaited |= x->is_awaited;
  }
  if (!order.agents.empty())
    out_.emplace_back(std::move(order));
  if (are_awaited && !alarms_.is_armed(alarm::ahead)) {
    alarms_.disarm(alarm::settle);
    arm(alarm::ahead, now_ + ahead_max);
  }
  return are_awaited;
}

void rendezvous::revoke(const end_reason& reason,
                        const std::optional<worker_failure>& failure) {
  assert(is_active());
  alarms_.disarm(alarm::ahead);
  auto order
    = revoke_generation{generation(), agents_.stop_members(), reason, failure};
  for (const auto& agent : order.agents)
    agents_.find(agent)->expect_stop(now_);
  alarms_.disarm(alarm::settle);
  alarms_.disarm(alarm::safe_point);
  round_.end();
  hurry_ = true;
  newcomers_.end();
  newcomers_.set_let_in({});
  reason_ = reason;
  revoked_at_ = now_;
  phase_ = phase::stopping;
  out_.emplace_back(std::move(order));
}

// -- failures and what they cost ----------------------------------------------

// The failure that is reported first ends the generation.
void rendezvous::fail() {
  failures_.end_generation();
  revoke({to_string(failures_.first())}, failures_.first());
  add_drained(); // Their workers may all have ended well before they leave.
  update_cause();
}

// A failure that is reported later may still be the root cause. When an agent that
// was cut off repeats it, the generation may have been settled: the next one must
// not answer for it.
void rendezvous::add_failures(const agent_id& agent, collateral failures) {
  if (!is_active() && phase_ != phase::stopping && !recovery_.is_listening())
    return;
  failures_.add(agent, std::move(failures), now_);
  if (failures_.has_ended_generation())
    update_cause();
}

void rendezvous::add_departure(const agent_record& record,
                               const end_reason& reason) {
  if (phase_ != phase::stopping || record.member_of != generation()
      || record.share == share_state::succeeded)
    return;
  failures_.add_departure(record.offering.agent, reason);
  if (failures_.has_ended_generation())
    update_cause();
}

void rendezvous::update_cause() {
  const auto* exemption = failures_.exemption();
  last_failure_ = failures_.first();
  reason_
    = exemption == nullptr ? end_reason{to_string(*last_failure_)} : *exemption;
}

// Their peers miss them before they have gone.
void rendezvous::add_drained() {
  for (const auto& [id, x] : agents_.records())
    if (x.is_draining() && !x.leaving)
      add_departure(x, agent_leaves(id, 0, x.drain->by));
}

void rendezvous::conclude_generation() {
  add_drained(); // One that was cut off may hear of its drain only now.
  phase_ = phase::gathering;
  if (!failures_.empty())
    settle_failures();
  failures_.clear();
  if (phase_ != phase::ended)
    charge_generation();
}

// Only now it is known whose doing it was: peers that miss a node may say so before
// its loss is known. Who was asked to go has cost nothing.
void rendezvous::charge_generation() {
  using kind = end_origin::kind;
  const auto origin = reason_.origin.value_or(end_origin{});
  if (origin.what != kind::operator_asked)
    costs_.member_departs(revoked_at_);
  if (origin.what == kind::node_lost || origin.what == kind::node_cut_off)
    if (auto x = stand_by_now().charge(origin.agent, revoked_at_, reason_.text))
      out_.emplace_back(std::move(*x));
  for (const auto& agent : newcomers_.let_in())
    costs_.add_return(agent, revoked_at_);
}

void rendezvous::report(std::vector<report_return> returns) {
  for (auto& x : returns)
    out_.emplace_back(std::move(x));
}

// All failures have been reported. In a generation that had ended for another
// reason they cost nothing either.
void rendezvous::settle_failures() {
  const auto first = failures_.first(now_);
  const auto others = failures_.others(now_);
  const auto* exemption
    = failures_.has_ended_generation() ? failures_.exemption() : &reason_;
  if (exemption != nullptr || !others.empty())
    out_.emplace_back(explain_failures{generation(), first, others,
                                       exemption ? *exemption : end_reason{}});
  auto how = outcome{.kind = outcome::verdict::failed,
                     .first_failure = first,
                     .other_failures = others.listed,
                     .unlisted_failure_count = others.unlisted_count,
                     .reason = to_string(first)};
  if (failures_.is_any_unkillable()
      && agents_.counts().candidates < settings().agent_count_min) {
    if (exemption != nullptr)
      attribute_unkillable(how);
    how.reason = to_string(*how.first_failure)
                 + "; too few nodes are left: " + quarantine_.text();
    end(std::move(how));
  } else if (exemption == nullptr) {
    if (policy_.on_failure(generation(), first)
        == restart_policy::answer::give_up)
      end(std::move(how));
    else
      count_failure(first);
  }
}

// -- the end ------------------------------------------------------------------

void rendezvous::end(outcome result) {
  assert(phase_ != phase::ended);
  phase_ = phase::ended;
  round_.end();
  end_.result = std::move(result);
  for (size_t i = 0; i < alarm_count; ++i)
    if (alarm(i) != alarm::lease)
      alarms_.disarm(alarm(i));
  if (end_.writes) {
    out_.emplace_back(write_outcome{*end_.result});
    return arm(alarm::outcome, now_ + limits_.connect);
  }
  on(outcome_written{});
}

// Who decided without that might, in its successor, decide otherwise.
void rendezvous::on(const outcome_written&) {
  if (phase_ != phase::ended || std::exchange(end_.is_told, true))
    return;
  alarms_.disarm(alarm::outcome);
  auto order = end_job{*end_.result, {}};
  for (const auto& [id, record] : agents())
    order.agents.push_back(id);
  out_.emplace_back(std::move(order));
  arm(alarm::close, now_ + limits_.close);
}

void rendezvous::close_if_empty() {
  // One that began with the outcome waits for those who do not know it.
  if (!agents().empty() || end_.was_before)
    return;
  end_.is_closed = true;
  out_.emplace_back(close_job{});
}

// -- texts for people ---------------------------------------------------------

job_wait rendezvous::wait() const {
  auto out = job_wait{.phase = phase_,
                      .counts = agents_.counts(),
                      .settings = settings(),
                      .generation = generation(),
                      .reason = reason_.text,
                      .is_listening = recovery_.is_listening(),
                      .holds_back = recovery_.holds_back(now_),
                      .awaits_ahead = alarms_.is_armed(alarm::ahead),
                      .newcomers_wait = costs_.newcomers_due() - now_};
  if (round_.is_active())
    out.on_the_way = job_wait::round{
      reason_of_round(),
      round_.has_step() ? std::optional{round_.order().step} : std::nullopt};
  if (const auto until = waits_until())
    out.time_left = *until - now_;
  return out;
}

std::optional<time_point> rendezvous::waits_until() const {
  switch (phase_) {
    case phase::gathering:
      return alarms_.due(recovery_.holds_back(now_) ? alarm::recovery
                                                    : alarm::join);
    case phase::last_call:
      return alarms_.due(alarm::last_call);
    case phase::running:
      return alarms_.due(round_.is_active()               ? alarm::safe_point
                         : alarms_.is_armed(alarm::ahead) ? alarm::ahead
                                                          : alarm::settle);
    default:
      return {};
  }
}

std::string rendezvous::waiting_for(const agent_id& agent) const {
  const auto i = agents().find(agent);
  const auto* x = i == agents().end() ? nullptr : &i->second;
  if (x != nullptr && x->excluded) {
    const auto& host = x->offering.host;
    if (const auto* why = orders_.excluded().find(host))
      return to_string(*why) + "; to let it in again: actorctl include " + host;
  }
  if (x != nullptr && x->stands_by)
    return stand_by_text(*x, costs_, now_);
  const auto is_placed
    = is_active() && x != nullptr && x->member_of == generation();
  return is_placed ? std::string{} : wait().text_for_node();
}

} // namespace actorrun::core
