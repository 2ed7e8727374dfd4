#include "actors/core/protocol/rendezvous.hpp"

#include "actors/core/protocol/rank_assignment.hpp"
#include "actors/core/text.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <string_view>
#include <utility>

namespace actorrun::core {

namespace {

std::string counted(size_t n, const char* noun) {
  return std::to_string(n) + " " + noun + (n == 1 ? "" : "s");
}

/// `2 nodes stop their workers`
std::string stopping_nodes(size_t n) {
  return counted(n, "node") + (n == 1 ? " stops its" : " stop their")
         + " workers";
}

constexpr auto log_levels = std::array<std::string_view, 5>{
  "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"};

/// In the answer to an operator.
constexpr size_t listed_agents_max = 8;

constexpr size_t gone_agents_max = 32;

/// How long a stop of workers takes at the most: where an agent does not say so, …
constexpr auto usual_stop_limit = std::chrono::minutes{2};
/// … and whatever it says.
constexpr auto longest_stop_limit = std::chrono::hours{1};

/// Workers that live on a node without a place wait for one so long.
constexpr auto idle_workers_max = std::chrono::minutes{1};

/// Newcomers whose workers are started ahead get so long to be ready.
constexpr auto ahead_max = std::chrono::minutes{5};

/// `: bad disk`
std::string because(const std::string& reason) {
  return reason.empty() ? "" : ": " + reason;
}

failure refused(std::string why) {
  return bad_argument(std::move(why));
}

answer_operator to_answer(const std::string& by, std::string what,
                          const result<std::string>& x) {
  return {by, std::move(what), x ? errc::none : x.error().code,
          x ? *x : x.error().text};
}

std::string range(uint32_t min, uint32_t max) {
  return nodes_asked({.agent_count_min = min, .agent_count_max = max});
}

/// What an agent says is not believed.
parked_share checked(parked_share x, const offer& own) {
  auto& ranks = x.local_ranks;
  std::erase_if(ranks, [&](uint32_t i) { return i >= own.slot_count; });
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return x;
}

/// By which operator; empty: by none.
std::string asked_to_leave_by(const agent_record* x) {
  return x != nullptr && x->is_draining() ? x->drain->by : std::string{};
}

/// At most `count` of them.
std::vector<pending_drain> first(const std::vector<pending_drain>& of,
                                 size_t count) {
  return {of.begin(), of.begin() + std::ptrdiff_t(std::min(count, of.size()))};
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
  : settings_(settings), limits_(limits), policy_(settings.restart_count_max),
    leases_(limits.lease()), agents_(settings),
    costs_(limits.join_settle, limits.rejoin_backoff, exclude_after) {
  assert(settings.agent_count_min >= 1);
  assert(settings.agent_count_min <= settings.agent_count_max);
  assert(settings.agent_count_max <= agents_per_generation_max);
  assert(!settings.ranked
         || settings.agent_count_min == settings.agent_count_max);
  charter_.settings = settings;
}

std::vector<rendezvous_effect> rendezvous::step(const rendezvous_event& event,
                                                time_point now) {
  auto out = effects{};
  now_ = now;
  if (closed_)
    return out;
  std::visit([&](const auto& x) { on(x, now, out); }, event);
  begin_waiting_drains(now, out);
  auto before = phase_;
  do {
    before = phase_;
    advance(now, out);
  } while (phase_ != before);
  note_charter(out);
  if (const auto due = leases_.next_due();
      due && !alarms_.is_armed(alarm::lease))
    arm(alarm::lease, *due, out);
  if (const auto due = costs_.next_due();
      due && phase_ != phase::ended && !alarms_.is_armed(alarm::stand_by))
    arm(alarm::stand_by, *due, out);
  // An operator may have asked for fewer nodes.
  assert(member_count() <= settings_.agent_count_max || !is_active()
         || round_.is_active() || is_finishing());
  return out;
}

// -- agents come and go -------------------------------------------------------

void rendezvous::on(const coordinator_started& event, time_point now,
                    effects& out) {
  began_ = now;
  writes_outcome_ = event.writes_outcome;
  recovery_.see(event.known.newest);
  // Hosts stay excluded, whatever the job is by now.
  if (event.successor)
    take_over_exclusions(event.known.excluded);
  for (const auto& x : exclusions_.list())
    settled_hosts_.insert(x.host);
  charter_.excluded = exclusions_.list();
  revision_seen_ = event.known.revision;
  if (event.known.revision != 0)
    witnesses_.know(event.known, event.names_hosts);
  if (event.decided) {
    is_decided_ = is_outcome_told_ = true;
    phase_ = phase::ended;
    result_ = event.decided;
    return arm(alarm::close, now + limits_.close, out);
  }
  if (!event.successor) {
    is_first_ = true;
    recovery_.see(event.unseen);
    return recovery_.close();
  }
  recovery_.listen(event.unseen);
  know_lease(std::max(limits_.lease(), event.known.lease), now, out);
}

void rendezvous::on(const agent_joined& event, time_point now, effects& out) {
  const auto& agent = event.offering.agent;
  if (auto why = refusal(event)) {
    out.emplace_back(reject_agent{agent, why->code, std::move(why->text)});
    return;
  }
  auto* record = agents_.find(agent);
  if (record == nullptr) {
    quarantine_.clear(event.offering.host);
    last_arrival_ = now;
    record = &agents_.add(event.offering);
    remember_drain(*record, now);
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
    hear(agent, *event.told, now, out);
  const auto is_excluded = exclusions_.find(event.offering.host) != nullptr;
  agents_.set_excluded(*record, is_excluded);
  costs_.node_is_here(agent, event.offering.host, now);
  agents_.change(*record,
                 [&](auto& x) { x.stands_by = costs_.stands_by(agent); });
  if (event.offering.leased)
    leases_.renew(agent, now);
  out.emplace_back(accept_agent{agent});
  if (phase_ == phase::ended && is_outcome_told_)
    out.emplace_back(end_job{*result_, {agent}});
  else if (phase_ != phase::ended)
    reconcile(*record, event.held, now, out);
  // The notice may have been lost with the link.
  if (phase_ != phase::ended && record->is_draining())
    notify(*record, now, out);
}

std::optional<failure> rendezvous::refusal(const agent_joined& event) const {
  const auto& x = event.offering;
  // It is of the next job with this name.
  if (is_decided_ && !event.held && !event.told)
    return failure{
      errc::connection_failed,
      "the job before has ended here, and its last nodes are told; try"
      " again"};
  const auto is_unsure = recovery_.is_listening() && charter_.revision == 0
                         && event.settings.ranked == settings_.ranked;
  if (!fits(event) && is_unsure)
    return failure{
      errc::connection_failed,
      "the coordinator has just begun, and asks the nodes of an earlier"
      " one for the job's settings; try again"};
  if (!fits(event))
    return failure{errc::settings_mismatch,
                   "the job runs with " + describe(settings_, event.settings)
                     + ", agent " + x.agent.value + " asks for "
                     + describe(event.settings, settings_)};
  if (x.slot_count < 1 || x.slot_count > slots_per_agent_max)
    return failure{errc::bad_slot_count,
                   "agent " + x.agent.value + " offers "
                     + std::to_string(x.slot_count) + " workers; 1 to "
                     + std::to_string(slots_per_agent_max) + " are possible"};
  if (!is_host_text(x.address))
    return failure{errc::bad_plan, "agent " + x.agent.value
                                     + " offers an address that is none"};
  if (event.held) {
    const auto claims = "agent " + x.agent.value + " claims workers, but ";
    if (auto ok = check_plan(event.held->plan, x); !ok)
      return failure{errc::bad_plan, claims + ok.error().text};
    if (event.held->plan.generation >= claimed_generation_end)
      return failure{errc::bad_plan,
                     claims + "no generation of theirs can have such a number"};
    const auto is_of_another
      = first_generation_ == generation_id{}
        || event.held->plan.generation < first_generation_;
    if (is_first_ && is_of_another
        && event.held->state == share_state::succeeded)
      return failure{errc::job_over,
                     "the workers of agent " + x.agent.value
                       + " have succeeded in a job of this id that has ended;"
                         " they are not run again in this one"};
  }
  if (agents().contains(x.agent) && agents().at(x.agent).given_up)
    return failure{errc::worker_unkillable,
                   "agent " + x.agent.value
                     + " has not stopped its workers in time: its lease ends"};
  if (!settings_.ranked)
    return std::nullopt;
  const auto rank = x.node_rank.value_or(settings_.agent_count_max);
  if (rank >= settings_.agent_count_max)
    return failure{errc::settings_mismatch,
                   "agent " + x.agent.value + " brings no node rank in 0.."
                     + std::to_string(settings_.agent_count_max - 1)};
  // An agent that claims workers must be known here until it has stopped them.
  if (event.held || agents_.contains(x.agent))
    return std::nullopt;
  for (const auto& [id, other] : agents_.records())
    if (other.offering.node_rank == rank && other.connected && !other.leaving
        && !other.excluded && !is_silent(id))
      return failure{errc::duplicate_agent,
                     "node rank " + std::to_string(rank) + " is taken: agent "
                       + id.value + " on " + other.offering.host + " has it"};
  return std::nullopt;
}

// It may have been replaced: then the lease decides, and the other waits for it.
bool rendezvous::is_silent(const agent_id& agent) const {
  const auto heard = leases_.heard(agent);
  return heard && now_ - *heard >= 2 * limits_.keep_alive_interval;
}

void rendezvous::on(const leases_renewed& event, time_point, effects&) {
  for (const auto& x : event.renewals)
    if (leases_.contains(x.agent))
      leases_.renew(x.agent, x.heard);
}

void rendezvous::on(const agent_disconnected& event, time_point, effects& out) {
  auto* record = agents_.find(event.agent);
  if (record == nullptr)
    return;
  if (!record->offering.leased) {
    lose(event.agent, agent_has_ended(event.agent), out);
    return;
  }
  agents_.change(*record, [](auto& x) { x.connected = false; });
  costs_.node_is_away(event.agent);
  out.emplace_back(probe_agent{event.agent});
}

void rendezvous::on(const agent_lost& event, time_point, effects& out) {
  // A link that came back in the meantime proves the evidence wrong.
  if (auto* record = agents_.find(event.agent); record && !record->connected)
    lose(event.agent, agent_is_lost(event.agent, event.evidence), out);
}

void rendezvous::on(const agent_leaving& event, time_point, effects& out) {
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
  revoke(reason, std::nullopt, out);
}

void rendezvous::on(const agent_left& event, time_point, effects& out) {
  const auto by = asked_to_leave_by(agents_.find(event.agent));
  lose(event.agent, agent_has_left(event.agent, by), out);
}

void rendezvous::lose(const agent_id& agent, const end_reason& reason,
                      effects& out) {
  const auto* record = agents_.find(agent);
  if (record == nullptr)
    return;
  const auto is_missed = is_active() && record->member_of == generation()
                         && record->share != share_state::succeeded;
  // An agent in quarantine leaves because of its own workers: that exempts
  // no failure.
  if (!quarantine_.contains(agent))
    add_departure(*record, reason);
  gone_.push_back({agent, record->offering.host, reason.text});
  if (gone_.size() > gone_agents_max)
    gone_.pop_front();
  agents_.remove(agent);
  leases_.drop(agent);
  costs_.node_is_gone(agent);
  out.emplace_back(forget_agent{agent, reason.text});
  if (is_missed)
    revoke(reason, std::nullopt, out);
}

// If the coordinator's own timer is late, the coordinator got no CPU time, and
// keep-alives may be waiting in its mailbox.
void rendezvous::expire_leases(time_point due, time_point now, effects& out) {
  const auto late = now - due;
  if (late > limits_.keep_alive_interval)
    leases_.stretch(late + limits_.keep_alive_interval);
  const auto silent
    = "silent for " + std::to_string(limits_.lease().count()) + " ms";
  for (const auto& agent : leases_.expire(now)) {
    const auto* x = agents_.find(agent);
    lose(agent,
         agent_is_lost(agent, x != nullptr && x->given_up
                                ? "has not stopped its workers within "
                                    + duration_text(x->stop_limit)
                                : silent),
         out);
  }
  if (agents_.counts().holding > 0)
    give_up_overdue(now, out);
  if (is_active() && agents().size() > agents_.counts().members)
    end_idle_workers(now, out);
}

// -- what agents claim to hold ------------------------------------------------

void rendezvous::reconcile(agent_record& record,
                           const std::optional<claim>& held, time_point now,
                           effects& out) {
  const auto& agent = record.offering.agent;
  set_parked(record,
             held && !may_run(held->state) ? held->parked : parked_share{});
  if (held && held->drain_left
      && !record.drain) // Another coordinator knows why.
    agents_.change(record, [&](auto& x) {
      const auto left
        = std::clamp<duration>(*held->drain_left, duration{0}, drain_time_max);
      x.drain = drain_order{"an operator", left, now + left, false, now};
    });
  if (held) {
    recovery_.see(held->plan.generation);
    policy_.restore(held->plan.restart_count);
  } else {
    recovery_.forget(agent);
  }
  // It cannot be of this job; but whoever has removed what proves that may be
  // wrong.
  if (held && !recovery_.is_open() && generation().value == 0
      && hold_back_end_ == time_point{})
    hold_back_until(now + limits_.lease(), now, out);
  if (held && recovery_.is_open()
      && (recovery_.is_listening()
          || (held->plan.generation >= generation()
              && held->plan.node_count >= settings_.agent_count_min)))
    return recover(record, *held, now, out);
  if (record.holds == generation()
      && (is_active() || phase_ == phase::stopping)) {
    const auto is_current = held && held->plan.generation == generation();
    if (phase_ == phase::stopping) {
      if (is_current && held->failure)
        add_failures(agent, {{*held->failure}, 0}, now);
      out.emplace_back(
        revoke_generation{generation(), {agent}, reason_, std::nullopt});
    } else if (is_current) {
      resume(record, *held, now, out);
    } else { // The link broke before the plan had arrived.
      out.emplace_back(
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
  expect_stop(record);
  out.emplace_back(revoke_generation{held->plan.generation,
                                     {agent},
                                     {"the generation is over"},
                                     std::nullopt,
                                     true});
}

// A member of the running generation is back after its link broke.
void rendezvous::resume(agent_record& record, const claim& held, time_point now,
                        effects& out) {
  const auto agent = record.offering.agent;
  if (held.failure || held.state == share_state::failed)
    on(worker_failed{agent, generation(),
                     held.failure.value_or(worker_failure{})},
       now, out);
  switch (held.state) {
    case share_state::starting:
      return;
    case share_state::running:
      on(workers_started{agent, generation()}, now, out);
      if (is_active() && round_.is_active()) // The order may have been lost.
        send_order({agent}, reason_of_round(), out);
      return;
    case share_state::succeeded:
      return on(workers_succeeded{agent, generation()}, now, out);
    case share_state::failed:
      return;
    case share_state::idle:
      return on(workers_stopped{.agent = agent,
                                .generation = generation(),
                                .parked = record.parked},
                now, out);
    case share_state::stopping:
      if (is_active())
        revoke(agent_was_cut_off(agent, false), std::nullopt, out);
      return;
  }
}

// An agent of an earlier coordinator's generation.
void rendezvous::recover(agent_record& record, const claim& held,
                         time_point now, effects& out) {
  const auto progress
    = recovery_.take(agents_, record, held, settings_.agent_count_min);
  if (progress.has_begun) {
    phase_ = phase::gathering; // Whoever listens makes no last call.
    hold_back_until(now + limits_.lease(), now, out);
  }
  if (progress.is_newer)
    failures_.clear();
  if (progress.failure)
    add_failures(record.offering.agent, {{*progress.failure}, 0}, now);
  if (progress.is_complete)
    conclude_recovery(now, out);
}

// What is known, wherever it comes from, counts from the beginning: agents that
// none has heard of may have had the longest lease of all.
void rendezvous::know_lease(duration lease, time_point now, effects& out) {
  const auto longest = std::chrono::ceil<std::chrono::milliseconds>(
    std::min<duration>(lease, lease_max));
  charter_.lease = std::max(charter_.lease, longest);
  hold_back_until(began_ + longest, now, out);
}

void rendezvous::hold_back_until(time_point end, time_point now, effects& out) {
  if (end <= hold_back_end_ || end <= now)
    return;
  hold_back_end_ = end;
  arm(alarm::recovery, end, out);
}

// One agent is believed that it may have workers, and nothing else.
void rendezvous::hear(const agent_id& agent, const charter& told,
                      time_point now, effects& out) {
  if (told.newest < claimed_generation_end)
    recovery_.see(told.newest);
  if (!is_learning(now))
    return;
  know_lease(told.lease, now, out);
  revision_seen_ = std::max(revision_seen_, told.revision);
  if (const auto known = witnesses_.hear(agent, told))
    take_over(*known, now);
}

// It replaces what was taken over before.
void rendezvous::take_over(const charter& known, time_point now) {
  const auto& x = known.settings;
  if (x.agent_count_min < 1 || x.agent_count_min > x.agent_count_max
      || x.agent_count_max > agents_per_generation_max
      || x.ranked != settings_.ranked)
    return;
  const auto own = settings_;
  if (!is_resized_here_) {
    settings_.agent_count_min = x.agent_count_min;
    settings_.agent_count_max = x.agent_count_max;
  }
  settings_.restart_count_max = x.restart_count_max;
  agents_.resize(settings_.agent_count_max);
  policy_.set_maximum(settings_.restart_count_max);
  policy_.restore(known.restart_count);
  costs_.know_failures(known.failing);
  take_over_exclusions(known.excluded);
  if (!settings_.ranked)
    take_over_drains(known.drains, now);
  if (!is_resized_here_ && (known.is_resized || settings_ != own))
    resize_reason_ = {"an earlier coordinator of the job had "
                      + nodes_asked(settings_) + " nodes"};
  if (known.revision < charter_.revision)
    return;
  // Agents know this; they are told what is different here.
  const auto lease = charter_.lease;
  charter_ = known;
  charter_.lease = lease;
  charter_.is_resized = !resize_reason_.empty();
}

void rendezvous::settle_host(const std::string& host) {
  if (is_learning(now_))
    settled_hosts_.insert(host);
}

void rendezvous::settle_drain(const agent_id& agent) {
  if (is_learning(now_))
    settled_drains_.insert(agent);
}

void rendezvous::take_over_exclusions(const std::vector<excluded_host>& known) {
  for (const auto& x : std::vector{exclusions_.list()})
    if (!settled_hosts_.contains(x.host))
      exclusions_.remove(x.host);
  for (auto x : known)
    if (is_host_text(x.host) && !settled_hosts_.contains(x.host)
        && !exclusions_.find(x.host) && !exclusions_.is_full()) {
      if (x.since == time_point{}) // Agents and etcd do not tell it.
        x.since = now_;
      exclusions_.add(std::move(x));
    }
  for (const auto& [id, record] : agents_.records())
    agents_.set_excluded(*agents_.find(id),
                         exclusions_.find(record.offering.host) != nullptr);
}

void rendezvous::take_over_drains(const std::vector<pending_drain>& known,
                                  time_point now) {
  const auto is_settled
    = [&](const auto& x) { return settled_drains_.contains(x.agent); };
  const auto outdated = std::exchange(waiting_drains_, known);
  std::erase_if(waiting_drains_, is_settled);
  for (const auto& x : outdated) {
    auto* record = agents_.find(x.agent);
    if (is_settled(x))
      waiting_drains_.push_back(x);
    else if (record != nullptr && record->waits_to_drain()
             && !std::ranges::count(known, x.agent, &pending_drain::agent))
      record->drain.reset();
  }
  for (const auto& [id, record] : agents_.records())
    remember_drain(*agents_.find(id), now);
}

charter rendezvous::job() const {
  auto out = charter_;
  out.newest = highest_number();
  return out;
}

// Agents learn of an order at once; of a restart that was spent with the next
// generation, which follows. Whoever does not know yet what was before says nothing
// but what is ordered here: agents would forget what they are to bear witness of.
void rendezvous::note_charter(effects& out) {
  auto now = charter{.revision = charter_.revision,
                     .settings = settings_,
                     .is_resized = !resize_reason_.empty(),
                     .restart_count = policy_.restart_count(),
                     .excluded = exclusions_.list(),
                     .failing = costs_.failing_hosts(),
                     .drains = first(waiting_drains_, told_drains_max),
                     .lease = std::max(charter_.lease, limits_.lease()),
                     .newest = charter_.newest};
  const auto is_order = !are_orders_equal(now, charter_);
  const auto is_outdated = revision_seen_ > now.revision;
  const auto is_new
    = is_learning(now_)
        ? is_order
            || (!recovery_.is_open()
                && now.restart_count != charter_.restart_count)
        : is_outdated || now.revision == 0 || !is_same_job(now, charter_);
  if (!is_new)
    return;
  now.revision = std::max(now.revision, revision_seen_) + 1;
  charter_ = std::move(now);
  auto order = tell_charter{};
  for (const auto& [id, x] : agents())
    if (x.connected && (is_order || is_outdated) && phase_ != phase::ended)
      order.agents.push_back(id);
  if (!order.agents.empty())
    out.emplace_back(std::move(order));
}

// The alarm: no agent of which nothing was heard has workers any more.
void rendezvous::on_held_back(time_point now, effects& out) {
  assert(now >= hold_back_end_); // Whoever moves it arms the alarm anew.
  if (recovery_.is_listening())
    conclude_recovery(now, out);
}

void rendezvous::conclude_recovery(time_point now, effects& out) {
  for (auto which :
       {alarm::recovery, alarm::join, alarm::quiet, alarm::last_call})
    alarms_.disarm(which);
  const auto found = recovery_.conclude(agents_);
  for (const auto& x : found.stale) {
    out.emplace_back(revoke_generation{
      x.generation, {x.agent}, {"the generation is over"}, {}, true});
    if (auto* record = agents_.find(x.agent))
      expect_stop(*record);
  }
  if (!found.has_generation)
    return;
  // An operator may have given the job other numbers of nodes before. An order that
  // is known counts more than a generation that was to be ended for it.
  const auto count = common_plan().node_count;
  if (!settings_.ranked && resize_reason_.empty()
      && count <= agents_per_generation_max
      && count > settings_.agent_count_max) {
    settings_.agent_count_max = count;
    agents_.resize(settings_.agent_count_max);
    resize_reason_ = {"generation " + to_string(generation())
                      + " was found with " + counted(count, "node")};
  }
  if (found.is_done && failures_.empty())
    return end_unproved(found, now, out);
  phase_ = phase::starting; // Or running: `supervise` looks.
  costs_.generation_begins(now);
  const auto is_incomplete
    = found.member_count < common_plan().node_count
      || common_plan().node_count < settings_.agent_count_min;
  const auto of_all = " of " + counted(common_plan().node_count, "agent")
                      + " of generation " + to_string(generation());
  const auto news
    = is_incomplete
        ? std::to_string(found.member_count) + of_all
            + " came back to the new coordinator"
        : std::to_string(found.stopped_count) + of_all
            + " came back to the new coordinator without their workers";
  if (!failures_.empty()) {
    fail(out);
    add_departures_of_recovery(news);
  } else if (is_incomplete || found.stopped_count > 0) {
    revoke({news}, std::nullopt, out);
  }
}

// All members that are back have succeeded, and so may the others have: who has
// learned that the job has ended has gone. It is not run again.
void rendezvous::end_unproved(const generation_recovery::findings& found,
                              time_point now, effects& out) {
  const auto count = common_plan().node_count;
  const auto is_whole
    = found.member_count == count && count >= settings_.agent_count_min;
  // Whose workers run in another generation shows that this one was not the last,
  // unless all others of it are here to say so.
  if (found.is_contradicted && (!is_whole || found.member_count == 1)) {
    agents_.dismiss_members();
    reason_
      = {"workers of several generations came back to the new coordinator"};
    return;
  }
  phase_ = phase::running;
  costs_.generation_begins(now);
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
           " run again"},
      now, out);
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

void rendezvous::on(const workers_started& event, time_point, effects&) {
  auto* record = agents_.find_member(event.agent, event.generation);
  if (record != nullptr && record->share == share_state::starting)
    agents_.change(*record, [](auto& x) { x.share = share_state::running; });
}

void rendezvous::on(const worker_failed& event, time_point now, effects& out) {
  auto* record = agents_.find_member(event.agent, event.generation);
  if (record == nullptr || record->holds != event.generation)
    return;
  agents_.change(*record, [](auto& x) { x.share = share_state::failed; });
  add_failures(event.agent, {{event.failure}, 0}, now);
  if (is_active())
    fail(out);
}

void rendezvous::on(const workers_succeeded& event, time_point, effects& out) {
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
    follow_round(round_.leave(event.agent), out);
}

void rendezvous::on(const workers_stopped& event, time_point now,
                    effects& out) {
  auto* record = agents_.find(event.agent);
  if (record == nullptr)
    return;
  if (event.master_port != 0)
    record->offering.master_port = event.master_port;
  if (record->holds != event.generation) {
    if (record->holds.value == 0) // Fewer are left, or they were started ahead.
      set_parked(*record, event.parked);
    if (record->ahead_of == event.generation)
      record->is_awaited = false;
    return;
  }
  agents_.change(*record, [](auto& x) {
    x.share = share_state::idle;
    x.holds = {};
  });
  set_parked(*record, event.parked);
  if (event.unkillable_count > 0)
    put_in_quarantine(*record, event.unkillable_count);
  if (agents_.find_member(event.agent, event.generation) == nullptr)
    return;
  if (event.unkillable_count > 0)
    has_quarantined_ = true;
  add_failures(event.agent, event.others, now);
  if (is_active())
    revoke(agent_was_cut_off(event.agent, true), std::nullopt, out);
}

void rendezvous::set_parked(agent_record& record, parked_share x) const {
  record.parked = checked(std::move(x), record.offering);
  if (record.parked.local_ranks.empty())
    record.parked_since.reset();
  else if (!record.parked_since)
    record.parked_since = now_;
}

// Others have gone on without them, so what they have in memory is old. Whenever
// leases are looked at. Newcomers may have to wait for each other.
void rendezvous::end_idle_workers(time_point now, effects& out) {
  for (const auto& [id, x] : agents()) {
    if (!x.parked_since || now - *x.parked_since < idle_workers_max
        || !x.connected || (alarms_.is_armed(alarm::ahead) && x.is_candidate()))
      continue;
    out.emplace_back(revoke_generation{
      x.parked.generation == generation_id{} ? x.ahead_of : x.parked.generation,
      {id},
      {"this node has had no place for " + duration_text(idle_workers_max)},
      std::nullopt,
      true});
    set_parked(*agents_.find(id), {});
  }
}

// From the first order on.
void rendezvous::expect_stop(agent_record& record) const {
  record.stop_due = now_ + record.stop_limit;
}

// Whenever leases are looked at: of those that have none, this process ends all.
// They may be late.
void rendezvous::give_up_overdue(time_point now, effects& out) {
  for (const auto& [id, x] : agents()) {
    if (x.holds.value == 0 || !x.stop_due || *x.stop_due > now || x.given_up
        || !x.offering.leased)
      continue;
    agents_.change(*agents_.find(id), [](auto& y) {
      y.given_up = true;
      y.connected = false;
    });
    costs_.node_is_away(id);
    out.emplace_back(give_up_agent{id, "has not stopped its workers within "
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
void rendezvous::on(const safe_point_reported& event, time_point now,
                    effects& out) {
  auto* record = agents_.find_member(event.agent, event.generation);
  if (record == nullptr || record->holds != event.generation
      || phase_ == phase::stopping || phase_ == phase::ended)
    return;
  using kind = safe_point_report::kind;
  const auto& report = event.report;
  record->steps_in = event.generation;
  if (report.what == kind::wanted)
    return want_save(now + report.left);
  if (round_.is_active())
    follow_round(round_.take(event.agent, report), out);
  else if (report.may_hold())
    send_order({event.agent}, "nothing is to change", out);
}

// Each node tells of the limit, one a little later than another.
void rendezvous::want_save(time_point limit) {
  constexpr auto inaccuracy = std::chrono::seconds{30};
  const auto is_handled = handled_limit_
                          && limit - *handled_limit_ <= inaccuracy
                          && *handled_limit_ - limit <= inaccuracy;
  if (!is_handled && !limit_)
    limit_ = limit;
}

// No generation ends for it: if a worker fails meanwhile, those of the next are
// asked.
void rendezvous::save_before_limit(time_point now, effects& out) {
  if (now >= *limit_)
    limit_.reset();
  else if (have_safe_points())
    begin_round(std::min<duration>(limits_.safe_point, *limit_ - now), now,
                out);
}

// There is one that is wanted.
void rendezvous::make_change(time_point now, effects& out) {
  if (have_safe_points())
    begin_round(limits_.safe_point, now, out);
  else
    revoke_for(wanted_change(), out);
}

void rendezvous::revoke_for(const end_reason& change, effects& out) {
  const auto& counts = agents_.counts();
  const auto is_for_newcomers
    = counts.excluded == 0 && !has_surplus() && counts.draining == 0;
  revoke(change, std::nullopt, out);
  ended_for_newcomers_ = is_for_newcomers;
  for (const auto& [id, x] : agents())
    if (is_for_newcomers && x.is_candidate() && x.member_of != generation())
      let_in_.push_back(id);
}

bool rendezvous::have_safe_points() const {
  return limits_.safe_point.count() > 0 && phase_ == phase::running
         && agents_.counts().starting == 0
         && std::ranges::any_of(agents(), [this](const auto& entry) {
              const auto& x = entry.second;
              return x.member_of == generation() && x.steps_in == generation();
            });
}

void rendezvous::begin_round(duration time, time_point now, effects& out) {
  auto members = busy_members();
  round_.begin(members);
  round_began_ = now;
  alarms_.disarm(alarm::settle);
  alarms_.disarm(alarm::ahead);
  arm(alarm::safe_point, now + time, out);
  send_order(std::move(members), reason_of_round(), out);
}

void rendezvous::follow_round(safe_point_round::progress x, effects& out) {
  switch (x) {
    case safe_point_round::progress::none:
      return;
    case safe_point_round::progress::all_hold:
      return send_order(busy_members(), reason_of_round(), out);
    case safe_point_round::progress::all_there:
      return conclude_round({}, out);
    case safe_point_round::progress::refused:
      return conclude_refused_round(out);
  }
}

// Workers without safe points get notice, and the time that was promised.
void rendezvous::conclude_refused_round(effects& out) {
  constexpr auto what_is_amiss = "some workers cannot be told where to stop";
  if (agents_.counts().excluded > 0 || has_surplus()
      || agents_.counts().draining == 0)
    return conclude_round(what_is_amiss, out);
  if (const auto limit = std::exchange(limit_, std::nullopt))
    handled_limit_ = limit;
  for (const auto& [id, x] : agents())
    if (x.is_draining() && x.drain->at_safe_point && x.holds == generation()) {
      auto& record = *agents_.find(id);
      record.drain->at_safe_point = false;
      notify(record, now_, out);
    }
  call_off_round(what_is_amiss, out);
}

// If they were only to save, they go on.
void rendezvous::conclude_round(const std::string& what_is_amiss,
                                effects& out) {
  const auto limit = std::exchange(limit_, std::nullopt);
  if (limit)
    handled_limit_ = limit;
  if (auto change = wanted_change(); !change.empty()) {
    change.text += (what_is_amiss.empty() ? "" : "; ") + what_is_amiss;
    revoke_for(change, out);
  } else if (!what_is_amiss.empty()) {
    call_off_round("they have not saved: " + what_is_amiss, out);
  } else if (limit) {
    call_off_round(
      "all have saved at step " + std::to_string(round_.order().step), out);
  }
}

void rendezvous::call_off_round(std::string reason, effects& out) {
  round_.end();
  send_order(busy_members(), std::move(reason), out);
  alarms_.disarm(alarm::safe_point);
}

std::string rendezvous::reason_of_round() const {
  auto change = wanted_change();
  return change.empty() && limit_ ? "the time limit of the job is near"
                                  : change.text;
}

// Of the changes that can wait. Nodes that have come may have left again, and
// others have come.
end_reason rendezvous::wanted_change() const {
  const auto& counts = agents_.counts();
  if (counts.excluded > 0)
    return exclusion_of_member();
  if (has_surplus())
    return resize_reason_;
  if (counts.draining > 0)
    return drain_of_member();
  if (can_admit() && now_ >= costs_.newcomers_due())
    return reason_of_newcomers();
  return {};
}

end_reason rendezvous::reason_of_newcomers() const {
  const auto count = agents_.counts().newcomers;
  const auto joined
    = count
      - (admission_reason_.empty() ? 0 : std::min(count, admitted_count_));
  if (admission_reason_.empty() || count == joined)
    return {std::to_string(count) + " more joined"};
  auto out = admission_reason_;
  if (joined > 0)
    out.text += "; " + std::to_string(joined) + " more joined";
  return out;
}

void rendezvous::admit_standbys(end_reason reason, uint32_t newcomers_before) {
  const auto count = agents_.counts().newcomers;
  if (!is_active() || count <= newcomers_before)
    return;
  admission_reason_ = std::move(reason);
  admitted_count_ = count - newcomers_before;
}

void rendezvous::send_order(std::vector<agent_id> agents, std::string reason,
                            effects& out) const {
  out.emplace_back(send_safe_point_order{generation(), std::move(agents),
                                         round_.order(), std::move(reason)});
}

std::vector<agent_id> rendezvous::busy_members() const {
  auto out = std::vector<agent_id>{};
  for (const auto& [id, x] : agents())
    if (x.member_of == generation() && x.holds == generation())
      out.push_back(id);
  return out;
}

// -- what operators ask -------------------------------------------------------

void rendezvous::on(const stop_requested& event, time_point now, effects& out) {
  const auto is_asked = !event.by.empty();
  if (phase_ == phase::ended) {
    if (is_asked)
      out.emplace_back(to_answer(event.by, "stop", refused(why_not_now())));
    return;
  }
  if (is_asked)
    out.emplace_back(to_answer(
      event.by, "stop" + because(event.reason),
      std::string{"the job is being stopped; its nodes end with code "}
        + std::to_string(128 + event.signal)));
  end({.kind = outcome::verdict::stopped,
       .first_failure = {},
       .signal = event.signal,
       .reason
       = is_asked ? "the job was stopped by " + event.by + because(event.reason)
                  : "the job was asked to end by signal "
                      + std::to_string(event.signal)},
      now, out);
}

void rendezvous::on(const drain_requested& event, time_point now,
                    effects& out) {
  const auto done = drain(event, now, out);
  out.emplace_back(to_answer(
    event.by, "drain " + event.node + " in " + duration_text(event.time),
    done));
}

result<std::string> rendezvous::drain(const drain_requested& event,
                                      time_point now, effects& out) {
  const auto found = find_node_now(event.node);
  if (!found)
    return found.error();
  auto& record = **found;
  const auto node = title(record);
  if (record.leaving)
    return node + " leaves already";
  if (record.is_draining())
    return node + " leaves already, as " + record.drain->by + " has asked: in "
           + duration_text(std::max(*record.drain->due - now, duration{0}))
           + " at the latest";
  if (record.drain && event.waits) {
    settle_drain(record.offering.agent);
    return node + " waits for a replacement already, as " + record.drain->by
           + " has asked, and then leaves in "
           + duration_text(record.drain->time);
  }
  if (!record.offering.leased)
    return refused(node
                   + " hosts the coordinator, and the job would end with it;"
                     " to end the job: actorctl stop");
  if (!record.connected)
    return refused(node + " is out of touch: its lease decides");
  const auto can_go = event.waits && !settings_.ranked ? is_replaced(record)
                                                       : can_spare(record);
  if (!can_go && (!event.waits || settings_.ranked))
    return refused("without " + node
                   + " fewer nodes are left than the job needs, "
                     "which is "
                   + std::to_string(settings_.agent_count_min)
                   + (settings_.ranked ? ""
                                       : "; start another one first, or give"
                                         " --wait-for-replacement"));
  record.drain = drain_order{.by = event.by, .time = event.time, .asked = now};
  if (!can_go) {
    settle_drain(record.offering.agent);
    waiting_drains_.push_back(
      {record.offering.agent, event.by,
       std::chrono::ceil<std::chrono::milliseconds>(event.time)});
    return node
           + " leaves when another node can take its place; to let it stay:"
             " actorctl drain --cancel "
           + event.node;
  }
  begin_drain(record, now, out);
  if (record.holds.value == 0)
    return node + " leaves; it has no workers";
  return node + " leaves in " + duration_text(event.time)
         + " at the latest, or "
         + (record.drain->at_safe_point
              ? "when all workers have come to a safe point"
              : "when its workers have ended");
}

void rendezvous::begin_drain(agent_record& record, time_point now,
                             effects& out) {
  const auto at_safe_point = record.member_of == generation()
                             && record.share == share_state::running
                             && have_safe_points();
  agents_.change(record, [=](auto& x) {
    x.drain->due = now + x.drain->time;
    x.drain->at_safe_point = at_safe_point;
  });
  notify(record, now, out);
  if (!at_safe_point)
    return;
  // Its workers have been promised that time.
  const auto due
    = now + std::max<duration>(record.drain->time, limits_.safe_point);
  if (!round_.is_active())
    begin_round(due - now, now, out);
  else if (alarms_.due(alarm::safe_point) < due)
    arm(alarm::safe_point, due, out);
}

void rendezvous::notify(const agent_record& record, time_point now,
                        effects& out) {
  const auto& drain = *record.drain;
  out.emplace_back(
    notify_drain{record.offering.agent, std::max(*drain.due - now, duration{0}),
                 "asked for by " + drain.by, drain.at_safe_point});
}

// An earlier coordinator has promised it.
void rendezvous::remember_drain(agent_record& record, time_point now) const {
  const auto x = std::ranges::find(waiting_drains_, record.offering.agent,
                                   &pending_drain::agent);
  if (x != waiting_drains_.end() && !record.drain)
    record.drain = drain_order{.by = x->by, .time = x->time, .asked = now};
}

// One after the other: the first may take the place that the second waits for.
void rendezvous::begin_waiting_drains(time_point now, effects& out) {
  if (waiting_drains_.empty() || phase_ == phase::ended)
    return;
  std::erase_if(waiting_drains_, [&](const pending_drain& x) {
    auto* record = agents_.find(x.agent);
    if (record == nullptr) // It may be of those that have yet to come back.
      return !is_learning(now);
    if (record->leaving || !record->waits_to_drain())
      return true;
    if (!record->connected || !is_replaced(*record))
      return false;
    begin_drain(*record, now, out);
    return true;
  });
}

void rendezvous::on(const drain_withdrawal_requested& event, time_point,
                    effects& out) {
  out.emplace_back(to_answer(event.by, "cancel the drain of " + event.node,
                             withdraw_drain(event)));
}

// Workers that have had notice may have saved and ended.
result<std::string>
rendezvous::withdraw_drain(const drain_withdrawal_requested& event) {
  const auto found = find_node_now(event.node);
  if (!found)
    return found.error();
  auto& record = **found;
  const auto node = title(record);
  if (record.leaving || record.is_draining())
    return refused(node + " leaves already"
                   + (record.drain ? ", as " + record.drain->by + " has asked"
                                   : std::string{})
                   + ": that cannot be taken back any more");
  if (!record.waits_to_drain())
    return refused("no drain of " + node + " waits for a replacement");
  const auto by = record.drain->by;
  record.drain.reset(); // `begin_waiting_drains` forgets it.
  settle_drain(record.offering.agent);
  return node + " stays; " + by + " had asked that it leaves";
}

void rendezvous::on(const resize_requested& event, time_point, effects& out) {
  out.emplace_back(to_answer(
    event.by, "resize " + range(event.agent_count_min, event.agent_count_max),
    resize(event)));
}

result<std::string> rendezvous::resize(const resize_requested& event) {
  if (auto why = why_not_now(); !why.empty())
    return refused(std::move(why));
  const auto min = event.agent_count_min;
  const auto max = event.agent_count_max;
  if (min < 1 || min > max || max > agents_per_generation_max)
    return refused("a job has 1 to " + std::to_string(agents_per_generation_max)
                   + " nodes, and no more as its minimum than as its maximum");
  if (settings_.ranked)
    return refused("the nodes of this job have fixed ranks"
                   " (--rdzv-backend=static), so their number is fixed");
  const auto& counts = agents_.counts();
  if (is_active() && min > counts.candidates)
    return refused(counted(counts.candidates, "node")
                   + (counts.candidates == 1 ? " is" : " are")
                   + " here: a minimum of " + std::to_string(min)
                   + " would end the generation that runs");
  if (is_active() && max < counts.members && is_finishing())
    return refused("some nodes have finished their work: a new generation would"
                   " throw it away");
  const auto before = nodes_asked(settings_);
  const auto now = range(min, max);
  const auto old_max = settings_.agent_count_max;
  settings_.agent_count_min = min;
  settings_.agent_count_max = max;
  is_resized_here_ = true;
  agents_.resize(max);
  const auto* noun = max == 1 ? " node" : " nodes";
  resize_reason_
    = asked_for("resized to " + now + noun + " by " + event.by, event.by);
  const auto surplus = counts.members - std::min(counts.members, max);
  // There was no room for those that stand by.
  if (old_max <= counts.members)
    admit_standbys(resize_reason_, 0);
  if (now == before)
    return "the job has " + now + noun + " already";
  return "resized from " + before + " to " + now + noun
         + (is_active() && surplus > 0
              ? "; " + counted(surplus, "node")
                  + (surplus == 1 ? " stands by" : " stand by")
              : std::string{});
}

void rendezvous::on(const restart_requested& event, time_point, effects& out) {
  const auto what = "restart" + because(event.reason);
  auto why = why_not_now();
  if (why.empty() && !is_active())
    why = phase_ == phase::stopping
            ? "generation " + to_string(generation())
                + " is being stopped already (" + reason_.text + ")"
            : "no generation runs: " + waiting_for();
  if (!why.empty()) {
    out.emplace_back(to_answer(event.by, what, refused(std::move(why))));
    return;
  }
  out.emplace_back(to_answer(event.by, what,
                             "generation " + to_string(generation())
                               + " is being stopped, and the next one follows;"
                                 " this does not count against"
                                 " --max-restarts"));
  revoke(
    asked_for("restarted by " + event.by + because(event.reason), event.by),
    std::nullopt, out);
}

void rendezvous::on(const exclusion_requested& event, time_point now,
                    effects& out) {
  out.emplace_back(to_answer(event.by,
                             "exclude " + event.host + because(event.reason),
                             exclude(event, now)));
}

result<std::string> rendezvous::exclude(const exclusion_requested& event,
                                        time_point now) {
  if (auto why = why_not_now(); !why.empty())
    return refused(std::move(why));
  if (!is_host_text(event.host))
    return refused("that is no name of a host");
  if (const auto* known = exclusions_.find(event.host)) {
    settle_host(event.host);
    return to_string(*known) + "; it stays so";
  }
  if (exclusions_.is_full())
    return refused(std::to_string(excluded_hosts_max)
                   + " hosts are excluded, and no more can be");
  if (!can_spare_host(event.host))
    return refused("without host " + event.host
                   + " fewer nodes are left than the job needs, which is "
                   + std::to_string(settings_.agent_count_min)
                   + (settings_.ranked ? ""
                                       : "; start another one first, or give"
                                         " the job fewer: actorctl resize"));
  add_exclusion({event.host, event.reason, event.by, now});
  const auto count = std::ranges::count_if(agents(), [&](const auto& x) {
    return x.second.offering.host == event.host;
  });
  return "host " + event.host + " is excluded"
         + (count == 0
              ? std::string{"; no node of it is here: is it spelled as in"
                            " actorctl status?"}
              : "; " + counted(size_t(count), "node") + " of it "
                  + (count == 1 ? "stands by" : "stand by"));
}

void rendezvous::add_exclusion(excluded_host x) {
  for (const auto& [id, record] : agents())
    if (record.offering.host == x.host)
      agents_.set_excluded(*agents_.find(id), true);
  settle_host(x.host);
  exclusions_.add(std::move(x));
}

void rendezvous::on(const inclusion_requested& event, time_point,
                    effects& out) {
  const auto what = "include " + event.host;
  if (auto why = why_not_now(); !why.empty()) {
    out.emplace_back(to_answer(event.by, what, refused(std::move(why))));
    return;
  }
  const auto newcomers_before = agents_.counts().newcomers;
  auto is_changed = exclusions_.remove(event.host);
  if (is_changed)
    settle_host(event.host);
  for (const auto& [id, record] : agents()) {
    if (record.offering.host != event.host)
      continue;
    auto& known = *agents_.find(id);
    agents_.set_excluded(known, false);
    is_changed |= known.stands_by;
    if (known.stands_by)
      let_in(known, "asked for by " + event.by, out);
  }
  costs_.forgive(event.host);
  admit_standbys(
    asked_for("host " + event.host + " is included again by " + event.by,
              event.by),
    newcomers_before);
  out.emplace_back(to_answer(
    event.by, what,
    is_changed ? actorrun::result<std::string>{"host " + event.host
                                               + " may take part again"}
               : refused("host " + event.host + " is not excluded")));
}

void rendezvous::on(const log_level_requested& event, time_point,
                    effects& out) {
  const auto done = set_level(event, out);
  out.emplace_back(to_answer(
    event.by,
    "loglevel " + event.level + (event.node.empty() ? "" : " on " + event.node),
    done));
}

result<std::string> rendezvous::set_level(const log_level_requested& event,
                                          effects& out) {
  if (std::ranges::find(log_levels, event.level) == log_levels.end())
    return refused("there is no level " + event.level
                   + "; levels are DEBUG, INFO, WARNING, ERROR and CRITICAL");
  auto order = set_log_level{{}, event.level, event.node.empty()};
  if (order.is_for_all) {
    for (const auto& [id, x] : agents())
      if (x.connected)
        order.agents.push_back(id);
    out.emplace_back(order);
    return counted(order.agents.size(), "node") + " and the coordinator log "
           + event.level + " from now on";
  }
  const auto found = find_node(event.node);
  if (!found)
    return found.error();
  if (!(*found)->connected)
    return refused(title(**found) + " is out of touch");
  order.agents.push_back((*found)->offering.agent);
  out.emplace_back(std::move(order));
  return title(**found) + " logs " + event.level + " from now on";
}

// A host that is not excluded, because too few are left, comes up again with its
// next failure.
void rendezvous::count_failure(const worker_failure& x, time_point now,
                               effects& out) {
  if (!costs_.add_failure(x.host) || exclusions_.find(x.host) != nullptr
      || exclusions_.is_full() || !can_spare_host(x.host))
    return;
  const auto reason
    = std::to_string(costs_.failure_count(x.host))
      + " failures there have cost a restart, the last: " + to_string(x);
  add_exclusion({x.host, reason, "", now});
  out.emplace_back(report_exclusion{x.host, reason});
}

// Empty: it can be done now.
std::string rendezvous::why_not_now() const {
  if (phase_ == phase::ended)
    return "the job has ended: " + result_->reason;
  if (recovery_.is_listening())
    return "the coordinator has just begun, and waits for the nodes of the one"
           " before it; ask again in a few seconds";
  return {};
}

result<agent_record*> rendezvous::find_node_now(const std::string& name) {
  if (auto why = why_not_now(); !why.empty())
    return refused(std::move(why));
  return find_node(name);
}

result<agent_record*> rendezvous::find_node(const std::string& name) {
  if (auto* record = agents_.find({name}))
    return record;
  auto fits = std::vector<agent_record*>{};
  for (const auto& [id, x] : agents())
    if (x.offering.host == name)
      fits.push_back(agents_.find(id));
  if (fits.empty() && is_active())
    for (const auto& [id, x] : agents())
      if (x.member_of == generation()
          && std::to_string(x.place.node_rank) == name)
        fits.push_back(agents_.find(id));
  if (fits.empty())
    return refused(why_unknown(name));
  if (fits.size() == 1)
    return fits.front();
  auto listed = std::string{};
  for (size_t i = 0; i < std::min(fits.size(), listed_agents_max); ++i)
    listed += (i == 0 ? "" : ", ") + fits[i]->offering.agent.value;
  return refused("host " + name + " has several agents; name one of them: "
                 + listed + (fits.size() > listed_agents_max ? ", ..." : ""));
}

std::string rendezvous::why_unknown(const std::string& name) const {
  const auto i = std::find_if(gone_.rbegin(), gone_.rend(), [&](const auto& x) {
    return x.agent.value == name || x.host == name;
  });
  if (i != gone_.rend())
    return "node " + name + " is not in this job any more: " + i->reason;
  return "this job has no node " + name
         + "; it is named by its host, its agent or its node rank, as in"
           " actorctl status";
}

std::string rendezvous::title(const agent_record& x) const {
  const auto count = std::ranges::count_if(agents(), [&](const auto& y) {
    return y.second.offering.host == x.offering.host;
  });
  return count == 1
           ? "node " + x.offering.host
           : "agent " + x.offering.agent.value + " on " + x.offering.host;
}

bool rendezvous::can_spare(const agent_record& x) const {
  return are_enough(agents_.counts().candidates - (x.is_candidate() ? 1 : 0),
                    x.is_candidate());
}

// Also while too few are here anyway: it was promised to stay until then.
bool rendezvous::is_replaced(const agent_record& x) const {
  return !x.is_candidate()
         || agents_.counts().candidates > settings_.agent_count_min;
}

bool rendezvous::can_spare_host(const std::string& host) const {
  auto rest = uint32_t{0};
  auto is_missed = false;
  for (const auto& [id, x] : agents()) {
    if (x.offering.host != host)
      rest += x.is_candidate();
    else
      is_missed
        |= x.is_candidate() || (is_active() && x.member_of == generation());
  }
  return are_enough(rest, is_missed);
}

// Where no generation runs and too few are here anyway, fewer make no difference.
// Where one runs, some of its nodes may be out of touch just now.
bool rendezvous::are_enough(uint32_t rest, bool is_missed) const {
  const auto min = settings_.agent_count_min;
  return !is_missed || rest >= min
         || (!is_active() && agents_.counts().candidates < min);
}

// Why a node of the generation has no place in it any more.
end_reason rendezvous::exclusion_of_member() const {
  auto out = end_reason{};
  for (const auto& [id, x] : agents())
    if (const auto* found = exclusions_.find(x.offering.host);
        out.empty() && found != nullptr && x.excluded
        && x.member_of == generation() && x.share != share_state::succeeded)
      out = asked_for(to_string(*found), found->by);
  return out;
}

end_reason rendezvous::drain_of_member() const {
  auto out = end_reason{};
  for (const auto& [id, x] : agents())
    if (out.empty() && x.is_draining() && x.member_of == generation()
        && x.share != share_state::succeeded)
      out = asked_for(title(x) + " is to leave, asked for by " + x.drain->by,
                      x.drain->by);
  return out;
}

// Who was accepted once has what is the job's from a coordinator.
bool rendezvous::fits(const agent_joined& event) const {
  if (event.held || event.told)
    return event.settings.ranked == settings_.ranked;
  return core::fits(event.settings, settings_, !resize_reason_.empty(),
                    limits_.fence_guard / 2);
}

// -- timers -------------------------------------------------------------------

void rendezvous::on(const timer_fired& event, time_point now, effects& out) {
  const auto fired = alarms_.take(event.timer);
  if (!fired)
    return;
  switch (fired->which) {
    case alarm::lease:
      return expire_leases(fired->due, now, out);
    case alarm::join:
      return end({.kind = outcome::verdict::unmet,
                  .first_failure = {},
                  .signal = 0,
                  .reason = "only " + nodes_here() + " after "
                            + duration_text(limits_.join)},
                 now, out);
    case alarm::last_call:
      hurry_ = true;
      return;
    case alarm::quiet:
      return on_quiet(now, out);
    case alarm::settle:
      return on_settled(now, out);
    case alarm::ahead:
      for (const auto& [id, x] : agents())
        agents_.find(id)->is_awaited = false;
      return;
    case alarm::safe_point:
      if (is_active())
        conclude_round("the workers have come to no safe point in "
                         + duration_text(now - round_began_),
                       out);
      return;
    case alarm::recovery:
      return on_held_back(now, out);
    case alarm::outcome:
      return on(outcome_written{}, now, out);
    case alarm::stand_by:
      return let_in_those_due(now, out);
    case alarm::close:
      // Workers elsewhere may have longer to stop, as long as their agents hear
      // from us. Those that do not lose their lease.
      if (agents_.counts().holding > 0)
        return arm(alarm::close, now + limits_.close, out);
      closed_ = true;
      out.emplace_back(close_job{});
      return;
  }
}

// -- what follows, whatever the event was -------------------------------------

void rendezvous::advance(time_point now, effects& out) {
  switch (phase_) {
    case phase::gathering:
    case phase::last_call:
      return gather(now, out);
    case phase::starting:
    case phase::running:
      return supervise(now, out);
    case phase::stopping:
      if (agents_.counts().holding == 0)
        conclude_generation(now, out);
      return;
    case phase::ended:
      return close_if_empty(out);
  }
}

// A job that regroups needs less time than one that starts: its agents run
// already.
duration rendezvous::quiet() const {
  return generation().value == 0 ? limits_.quiet : limits_.join_settle;
}

void rendezvous::gather(time_point now, effects& out) {
  const auto& counts = agents_.counts();
  if (!recovery_.is_listening() && counts.holding == 0)
    let_in_for_minimum(out);
  if (counts.candidates >= settings_.agent_count_min)
    alarms_.disarm(alarm::join);
  // Workers of an older generation must have ended everywhere. Their agents report
  // it, or their leases run out.
  if (recovery_.is_listening() || counts.holding > 0)
    return;
  if (now < hold_back_end_) {
    phase_ = phase::gathering;
    if (!alarms_.is_armed(alarm::recovery))
      arm(alarm::recovery, hold_back_end_, out);
    return;
  }
  if (counts.candidates < settings_.agent_count_min) {
    phase_ = phase::gathering;
    hurry_ = false;
    alarms_.disarm(alarm::quiet);
    alarms_.disarm(alarm::last_call);
    // Nodes that have yet to come have time; those that have gone for good must
    // not leave a coordinator behind.
    if (agents().empty() && generation().value == 0)
      alarms_.disarm(alarm::join);
    else if (!alarms_.is_armed(alarm::join))
      arm(alarm::join, now + limits_.join, out);
    return;
  }
  if (counts.candidates >= settings_.agent_count_max || hurry_)
    return form(now, out);
  if (phase_ != phase::last_call) {
    phase_ = phase::last_call;
    arm(alarm::last_call, now + limits_.last_call, out);
    arm(alarm::quiet, now + quiet(), out);
  }
}

// Arrivals do not arm this timer again; instead it looks at the last arrival
// when it fires.
void rendezvous::on_quiet(time_point now, effects& out) {
  if (last_arrival_ + quiet() <= now)
    hurry_ = true;
  else
    arm(alarm::quiet, last_arrival_ + quiet(), out);
}

void rendezvous::form(time_point now, effects& out) {
  assert(agents_.counts().holding == 0);
  assert(now >= hold_back_end_);
  // All whom earlier coordinators have given a lease are gone, or have ours.
  charter_.lease = limits_.lease();
  witnesses_.close();
  // Those for whom the last generation was ended have gone again: that was for
  // nothing.
  if (std::exchange(ended_for_newcomers_, false)
      && agents_.counts().newcomers == 0)
    costs_.member_departs(now);
  auto plans = agents_.form(recovery_.name_generation(generation()),
                            policy_.restart_count());
  for (auto which : {alarm::quiet, alarm::last_call})
    alarms_.disarm(which);
  if (first_generation_ == generation_id{})
    first_generation_ = plans.front().generation;
  phase_ = phase::starting;
  has_quarantined_ = false;
  admission_reason_ = {};
  costs_.generation_begins(now);
  out.emplace_back(announce_generation{std::move(plans), reason_.text});
}

void rendezvous::supervise(time_point now, effects& out) {
  if (agents_.counts().unfinished == 0)
    return end({.kind = outcome::verdict::succeeded,
                .first_failure = {},
                .signal = 0,
                .reason = "all workers of generation " + to_string(generation())
                          + " succeeded"},
               now, out);
  if (agents_.counts().starting == 0)
    phase_ = phase::running;
  if (round_.is_active() && reason_of_round().empty())
    call_off_round("nothing is to change", out);
  if (round_.is_active())
    return;
  if (agents_.counts().excluded > 0 || has_surplus())
    return make_change(now, out);
  admit_newcomers(now, out);
  if (limit_ && is_active() && !round_.is_active())
    save_before_limit(now, out);
}

// If some agents have succeeded already, the job is about to end: a new generation
// would throw their work away. If one is draining, it will end this generation in
// any case, and its workers have been promised some time.
void rendezvous::admit_newcomers(time_point now, effects& out) {
  const auto& counts = agents_.counts();
  const auto is_full = counts.newcomers >= room();
  if (counts.newcomers == 0)
    admission_reason_ = {};
  if (!can_admit()) {
    alarms_.disarm(alarm::settle);
    alarms_.disarm(alarm::ahead);
  } else if (alarms_.is_armed(alarm::ahead)
             || (is_full && now >= costs_.newcomers_due())) {
    admit(now, out);
  } else if (!alarms_.is_armed(alarm::settle) || is_full != settles_full_) {
    first_newcomer_ = now;
    settles_full_ = is_full;
    arm(alarm::settle,
        is_full ? costs_.newcomers_due() : now + limits_.join_settle, out);
  }
}

void rendezvous::admit(time_point now, effects& out) {
  if (!await_newcomers(now, out))
    make_change(now, out);
}

// Only a generation that can stop between two steps gains by it: another one loses
// the step whenever it ends. One that cannot be ready is not waited for twice.
bool rendezvous::await_newcomers(time_point now, effects& out) {
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
    out.emplace_back(std::move(order));
  if (are_awaited && !alarms_.is_armed(alarm::ahead)) {
    alarms_.disarm(alarm::settle);
    arm(alarm::ahead, now + ahead_max, out);
  }
  return are_awaited;
}

bool rendezvous::can_admit() const {
  const auto& counts = agents_.counts();
  return counts.newcomers > 0 && room() > 0 && !is_finishing()
         && counts.draining == 0;
}

// Some agents have succeeded, even if they are gone by now: one that is missed
// before it has succeeded ends the generation.
bool rendezvous::is_finishing() const {
  return agents_.counts().unfinished < common_plan().node_count;
}

bool rendezvous::has_surplus() const {
  return agents_.counts().members > settings_.agent_count_max
         && !is_finishing();
}

// For more members.
uint32_t rendezvous::room() const {
  return settings_.agent_count_max
         - std::min(settings_.agent_count_max, agents_.counts().members);
}

void rendezvous::on_settled(time_point now, effects& out) {
  const auto due = std::max(std::min(last_arrival_ + limits_.join_settle,
                                     first_newcomer_ + limits_.last_call),
                            costs_.newcomers_due());
  if (due > now)
    arm(alarm::settle, due, out);
  else
    admit(now, out);
}

void rendezvous::revoke(const end_reason& reason,
                        const std::optional<worker_failure>& failure,
                        effects& out) {
  assert(is_active());
  alarms_.disarm(alarm::ahead);
  auto order
    = revoke_generation{generation(), agents_.stop_members(), reason, failure};
  for (const auto& agent : order.agents)
    expect_stop(*agents_.find(agent));
  alarms_.disarm(alarm::settle);
  alarms_.disarm(alarm::safe_point);
  round_.end();
  hurry_ = true;
  ended_for_newcomers_ = false;
  let_in_.clear();
  reason_ = reason;
  revoked_at_ = now_;
  phase_ = phase::stopping;
  out.emplace_back(std::move(order));
}

// -- failures and what they cost ----------------------------------------------

// The failure that is reported first ends the generation.
void rendezvous::fail(effects& out) {
  failures_.end_generation();
  revoke({to_string(failures_.first())}, failures_.first(), out);
  add_drained(); // Their workers may all have ended well before they leave.
  update_cause();
}

// A failure that is reported later may still be the root cause. When an agent that
// was cut off repeats it, the generation may have been settled: the next one must
// not answer for it.
void rendezvous::add_failures(const agent_id& agent, collateral failures,
                              time_point now) {
  if (!is_active() && phase_ != phase::stopping && !recovery_.is_listening())
    return;
  failures_.add(agent, std::move(failures), now);
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

void rendezvous::conclude_generation(time_point now, effects& out) {
  add_drained(); // One that was cut off may hear of its drain only now.
  phase_ = phase::gathering;
  if (!failures_.empty())
    settle_failures(now, out);
  failures_.clear();
  if (phase_ != phase::ended)
    charge_generation(out);
}

// Only now it is known whose doing it was: peers that miss a node may say so before
// its loss is known. Who was asked to go has cost nothing.
void rendezvous::charge_generation(effects& out) {
  using kind = end_origin::kind;
  const auto origin = reason_.origin.value_or(end_origin{});
  if (origin.what != kind::operator_asked)
    costs_.member_departs(revoked_at_);
  if (origin.what == kind::node_lost || origin.what == kind::node_cut_off)
    charge(origin.agent, out);
  for (const auto& agent : std::exchange(let_in_, {}))
    costs_.add_return(agent, revoked_at_);
}

void rendezvous::charge(const agent_id& agent, effects& out) {
  auto* record = agents_.find(agent);
  const auto gone
    = std::find_if(gone_.rbegin(), gone_.rend(),
                   [&](const auto& x) { return x.agent == agent; });
  if (record == nullptr && gone == gone_.rend())
    return;
  const auto host = record != nullptr ? record->offering.host : gone->host;
  auto is_taken_over = false;
  if (record == nullptr) {
    // It may have been started again while the generation was being stopped.
    for (const auto& [id, x] : agents())
      if (x.offering.host == host && x.member_of.value == 0
          && (record == nullptr || x.arrival > record->arrival))
        record = agents_.find(id);
    costs_.node_is_gone(agent);
    if (record != nullptr) {
      const auto& id = record->offering.agent;
      costs_.node_is_here(id, host, now_);
      is_taken_over = costs_.stands_by(id) && !record->stands_by;
    }
  }
  const auto who = record != nullptr ? record->offering.agent : agent;
  costs_.add_loss(who, host, revoked_at_);
  if (record == nullptr)
    costs_.node_is_gone(who);
  else if (!record->connected)
    costs_.node_is_away(who);
  const auto others = agents_.counts().candidates
                      - (record != nullptr && record->is_candidate() ? 1 : 0);
  const auto is_due
    = costs_.is_too_costly(who) && others >= settings_.agent_count_min;
  if (is_due)
    costs_.stand_by(who);
  follow_stand_by(host);
  if (!is_due && !is_taken_over)
    return;
  out.emplace_back(report_stand_by{
    who, host, costs_.text(who) + ", the last: " + reason_.text});
}

void rendezvous::let_in(agent_record& record, std::string reason,
                        effects& out) {
  const auto& x = record.offering;
  costs_.let_in(x.agent);
  follow_stand_by(x.host);
  out.emplace_back(report_return{x.agent, x.host, std::move(reason)});
}

// Two agents of one host can be one node: the older one may be gone.
void rendezvous::follow_stand_by(const std::string& host) {
  for (const auto& [id, x] : agents())
    if (x.offering.host == host && x.stands_by != costs_.stands_by(id))
      agents_.change(*agents_.find(id),
                     [](auto& y) { y.stands_by = !y.stands_by; });
}

void rendezvous::let_in_those_due(time_point now, effects& out) {
  for (const auto& [id, x] : agents())
    if (const auto due = costs_.due(id); due && *due <= now)
      let_in(*agents_.find(id), "it has been reachable for long enough", out);
}

// A job that has too few others takes it as it is.
void rendezvous::let_in_for_minimum(effects& out) {
  const auto min = settings_.agent_count_min;
  if (agents_.counts().candidates >= min || !costs_.next_due())
    return; // All others are let in already.
  for (const auto& [id, x] : agents())
    if (x.stands_by && agents_.counts().candidates < min)
      let_in(*agents_.find(id), "too few other nodes are here", out);
}

// All failures have been reported. In a generation that had ended for another
// reason they cost nothing either.
void rendezvous::settle_failures(time_point now, effects& out) {
  const auto first = failures_.first(now);
  const auto others = failures_.others(now);
  const auto* exemption
    = failures_.has_ended_generation() ? failures_.exemption() : &reason_;
  if (exemption != nullptr || !others.empty())
    out.emplace_back(explain_failures{generation(), first, others,
                                      exemption ? *exemption : end_reason{}});
  auto how = outcome{.kind = outcome::verdict::failed,
                     .first_failure = first,
                     .other_failures = others.listed,
                     .unlisted_failure_count = others.unlisted_count,
                     .reason = to_string(first)};
  if (has_quarantined_
      && agents_.counts().candidates < settings_.agent_count_min) {
    if (exemption != nullptr)
      attribute_unkillable(how);
    how.reason = to_string(*how.first_failure)
                 + "; too few nodes are left: " + quarantine_.text();
    end(std::move(how), now, out);
  } else if (exemption == nullptr) {
    if (policy_.on_failure(generation(), first)
        == restart_policy::answer::give_up)
      end(std::move(how), now, out);
    else
      count_failure(first, now, out);
  }
}

// -- the end ------------------------------------------------------------------

void rendezvous::end(outcome result, time_point now, effects& out) {
  assert(phase_ != phase::ended);
  phase_ = phase::ended;
  round_.end();
  result_ = std::move(result);
  for (size_t i = 0; i < alarm_count; ++i)
    if (alarm(i) != alarm::lease)
      alarms_.disarm(alarm(i));
  if (writes_outcome_) {
    out.emplace_back(write_outcome{*result_});
    return arm(alarm::outcome, now + limits_.connect, out);
  }
  on(outcome_written{}, now, out);
}

// Who decided without that might, in its successor, decide otherwise.
void rendezvous::on(const outcome_written&, time_point now, effects& out) {
  if (phase_ != phase::ended || std::exchange(is_outcome_told_, true))
    return;
  alarms_.disarm(alarm::outcome);
  auto order = end_job{*result_, {}};
  for (const auto& [id, record] : agents())
    order.agents.push_back(id);
  out.emplace_back(std::move(order));
  arm(alarm::close, now + limits_.close, out);
}

void rendezvous::close_if_empty(effects& out) {
  // One that began with the outcome waits for those who do not know it.
  if (!agents().empty() || is_decided_)
    return;
  closed_ = true;
  out.emplace_back(close_job{});
}

// -- texts for people ---------------------------------------------------------

std::string rendezvous::nodes_here() const {
  return std::to_string(agents_.counts().candidates) + " of "
         + nodes_asked(settings_) + " nodes are here";
}

std::string rendezvous::waiting_for() const {
  const auto& counts = agents_.counts();
  const auto here = nodes_here();
  switch (phase_) {
    case phase::gathering:
      if (counts.holding > 0 && !recovery_.is_listening())
        return stopping_nodes(counts.holding) + " of an older generation";
      if (holds_back())
        return "listening for agents of an earlier coordinator";
      return "waiting for "
             + counted(
               settings_.agent_count_min
                 - std::min(settings_.agent_count_min, counts.candidates),
               "more node")
             + ": " + here;
    case phase::last_call:
      return "last call for more nodes: " + here;
    case phase::starting:
      return counted(counts.starting, "node")
             + (counts.starting == 1 ? " starts its" : " start their")
             + " workers of generation " + to_string(generation());
    case phase::stopping:
      return stopping_nodes(counts.holding) + " of generation "
             + to_string(generation()) + " (" + reason_.text + ")";
    case phase::running:
      if (round_.is_active())
        return reason_of_round() + ": " + way_to_safe_point();
      if (counts.newcomers > 0 && counts.members >= settings_.agent_count_max)
        return counted(counts.newcomers, "node")
               + (counts.newcomers == 1 ? " stands by: " : " stand by: ")
               + maximum();
      if (counts.newcomers > 0)
        return counted(counts.newcomers, "more node")
               + (counts.newcomers == 1 ? " is here: " : " are here: ")
               + admission("with all", "the rest stands by");
      return {};
    case phase::ended:
      break;
  }
  return {};
}

std::optional<time_point> rendezvous::waits_until() const {
  switch (phase_) {
    case phase::gathering:
      return holds_back() ? alarms_.due(alarm::recovery)
                          : alarms_.due(alarm::join);
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

std::string rendezvous::way_to_safe_point() const {
  if (!round_.has_step())
    return "the workers are asked for a safe point";
  return "the workers go on to step " + std::to_string(round_.order().step);
}

std::string rendezvous::maximum() const {
  return "the maximum is " + counted(settings_.agent_count_max, "node");
}

// When those that are not in the generation are let in.
std::string rendezvous::admission(const std::string& with,
                                  const std::string& otherwise) const {
  const auto& counts = agents_.counts();
  const auto running = "generation " + to_string(generation()) + " runs with "
                       + counted(counts.members, "node");
  if (counts.members >= settings_.agent_count_max)
    return otherwise + ": " + maximum();
  if (counts.draining > 0)
    return running + "; the job starts again " + with
           + " when a node has left that is to leave";
  if (round_.is_active())
    return running + "; the job starts again " + with + ": "
           + way_to_safe_point();
  if (alarms_.is_armed(alarm::ahead))
    return running + "; the job starts again " + with
           + " when the new workers are ready";
  if (counts.unfinished < counts.members)
    return running + " and is about to end; " + otherwise;
  if (const auto left = costs_.newcomers_due() - now_; left > duration::zero())
    return running + "; nodes come and go, so the job starts again " + with
           + " in "
           + std::to_string(
             std::chrono::ceil<std::chrono::seconds>(left).count())
           + " s";
  return running + "; the job starts again " + with + " in a moment";
}

std::string rendezvous::waiting_for(const agent_id& agent) const {
  const auto is_placed
    = agents().contains(agent) && agents().at(agent).member_of == generation();
  if (agents().contains(agent) && agents().at(agent).excluded) {
    const auto& host = agents().at(agent).offering.host;
    if (const auto* why = exclusions_.find(host))
      return to_string(*why) + "; to let it in again: actorctl include " + host;
  }
  if (agents().contains(agent) && agents().at(agent).stands_by)
    return stand_by_text(agents().at(agent));
  if (!is_active()) {
    auto text = waiting_for();
    if (recovery_.is_listening())
      text += ": " + nodes_here();
    if (const auto until = waits_until(); until && !text.empty())
      text += " (" + duration_text(*until - now_) + " at most)";
    return text;
  }
  if (is_placed)
    return {};
  return admission("with this one", "this one stands by");
}

std::string rendezvous::stand_by_text(const agent_record& x) const {
  const auto& offer = x.offering;
  const auto due = costs_.due(offer.agent);
  const auto seconds = [&](time_point until) {
    using std::chrono::seconds;
    const auto left = std::max(until - now_, duration::zero());
    return std::to_string(std::chrono::ceil<seconds>(left).count()) + " s";
  };
  return "stands by, because it has " + costs_.text(offer.agent)
         + (due
              ? "; may take part in " + seconds(*due) + " if it stays reachable"
              : "; must be reachable for a while first")
         + "; to let it in at once: actorctl include " + offer.host;
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

} // namespace actorrun::core
