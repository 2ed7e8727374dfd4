// How epochs form and end.

#include "actors/core/protocol/rank_assignment.hpp"
#include "actors/core/protocol/rendezvous.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>
#include <utility>

namespace actorrun::core {

namespace {

/// What had an excuse does not end a job.
void attribute_unkillable(outcome& how) {
  if (how.first_failure->kind == failure_kind::unkillable)
    return;
  const auto i = std::ranges::find(how.other_failures, failure_kind::unkillable,
                                   &worker_failure::kind);
  if (i != how.other_failures.end())
    std::swap(*i, *how.first_failure);
}

} // namespace

void rendezvous::advance(time_point now, effects& out) {
  switch (phase_) {
    case phase::gathering:
    case phase::last_call:
      return gather(now, out);
    case phase::starting:
    case phase::running:
      return supervise(now, out);
    case phase::stopping:
      if (tally_.holding == 0)
        conclude_epoch(now, out);
      return;
    case phase::ended:
      return close_if_empty(out);
  }
}

// -- before an epoch ----------------------------------------------------------

// Known members gather faster than strangers: who waits for the group's return
// is there already.
duration rendezvous::quiet() const {
  return epoch_.value == 0 ? limits_.quiet : limits_.join_settle;
}

void rendezvous::gather(time_point now, effects& out) {
  if (tally_.candidates >= settings_.agent_count_min)
    disarm(join_alarm);
  // Workers of an older epoch must have ended everywhere; their agents report
  // it, or their leases run out.
  if (recovering_ || tally_.holding > 0)
    return;
  if (tally_.candidates < settings_.agent_count_min) {
    phase_ = phase::gathering;
    hurry_ = false;
    disarm(quiet_alarm);
    disarm(last_call_alarm);
    if (agents_.empty())
      disarm(join_alarm);
    else if (!is_armed(join_alarm))
      arm(join_alarm, now + limits_.join, out);
    return;
  }
  if (tally_.candidates >= settings_.agent_count_max || hurry_)
    return form(out);
  if (phase_ != phase::last_call) {
    phase_ = phase::last_call;
    arm(last_call_alarm, now + limits_.last_call, out);
    arm(quiet_alarm, now + quiet(), out);
  }
}

// One timer, however many arrive: it looks back when it fires.
void rendezvous::on_quiet(time_point now, effects& out) {
  if (last_arrival_ + quiet() <= now)
    hurry_ = true;
  else
    arm(quiet_alarm, last_arrival_ + quiet(), out);
}

// Who is in is decided by who was in and who came first; the rank among the
// new by what a person expects: the endpoint's node first, then host names as
// people count.
std::vector<agent_record*> rendezvous::choose_members() {
  const auto returning = [this](const agent_record* x) {
    return x->member_of.value != 0 && x->member_of == epoch_;
  };
  auto chosen = std::vector<agent_record*>{};
  for (auto& [id, record] : agents_)
    if (record.connected && !record.leaving && !record.shadowed)
      chosen.push_back(&record);
  const auto room = std::min<size_t>(chosen.size(), settings_.agent_count_max);
  const auto seniority = [&](const agent_record* x) {
    return std::tuple{!returning(x), returning(x) ? x->place.node_rank : 0,
                      x->arrival};
  };
  std::sort(chosen.begin(), chosen.end(), [&](const auto* a, const auto* b) {
    return seniority(a) < seniority(b);
  });
  chosen.resize(room);
  if (settings_.ranked) {
    std::sort(chosen.begin(), chosen.end(), [](const auto* a, const auto* b) {
      return a->offering.node_rank < b->offering.node_rank;
    });
    return chosen;
  }
  const auto first_new
    = std::find_if_not(chosen.begin(), chosen.end(), returning);
  std::sort(first_new, chosen.end(), [](const auto* a, const auto* b) {
    const auto& x = a->offering;
    const auto& y = b->offering;
    if (x.leased != y.leased)
      return !x.leased;
    if (x.host != y.host)
      return natural_less(x.host, y.host);
    return natural_less(x.agent.value, y.agent.value);
  });
  return chosen;
}

void rendezvous::form(effects& out) {
  assert(tally_.holding == 0);
  const auto members = choose_members();
  auto offers = std::vector<offer>{};
  offers.reserve(members.size());
  for (const auto* x : members)
    offers.push_back(x->offering);
  const auto placements = assign_ranks(offers);
  assert(placements); // Every offer was checked when it came in.
  epoch_ = epoch_floor_ = {std::max(epoch_, epoch_floor_).value + 1};
  const auto& last = placements->back();
  common_ = {.epoch = epoch_,
             .own = {},
             .node_count = uint32_t(members.size()),
             .world_size = last.first_global_rank + last.slot_count,
             .master_address = offers.front().address,
             .master_port = offers.front().master_port,
             .restart_count = policy_.restart_count()};
  auto announcement = announce_epoch{{}, why_};
  announcement.plans.reserve(members.size());
  for (size_t i = 0; i < members.size(); ++i) {
    auto& x = *members[i];
    x.place = (*placements)[i];
    x.member_of = x.holds = epoch_;
    x.share = share_state::starting;
    x.failure.reset();
    announcement.plans.push_back(plan_for(x));
  }
  recount();
  for (auto which : {quiet_alarm, last_call_alarm, join_alarm, settle_alarm})
    disarm(which);
  hurry_ = false;
  formed_ = true;
  phase_ = phase::starting;
  out.emplace_back(std::move(announcement));
}

epoch_plan rendezvous::plan_for(const agent_record& record) const {
  auto plan = common_;
  plan.own = record.place;
  return plan;
}

// -- in an epoch --------------------------------------------------------------

void rendezvous::supervise(time_point now, effects& out) {
  if (tally_.unfinished == 0)
    return end(
      {.kind = outcome::verdict::succeeded,
       .first_failure = {},
       .signal = 0,
       .reason = "all workers of epoch " + to_string(epoch_) + " succeeded"},
      now, out);
  if (phase_ == phase::starting && tally_.starting == 0)
    phase_ = phase::running;
  welcome(now, out);
}

// Where some have finished already, the job is about to end: starting again
// would throw their work away.
void rendezvous::welcome(time_point now, effects& out) {
  const auto room = settings_.agent_count_max
                    - std::min(settings_.agent_count_max, tally_.members);
  const auto finishing = tally_.unfinished < tally_.members;
  if (tally_.newcomers == 0 || room == 0 || finishing) {
    disarm(settle_alarm);
  } else if (tally_.newcomers >= room) {
    revoke(std::to_string(tally_.newcomers) + " more joined", std::nullopt,
           out);
  } else if (!is_armed(settle_alarm)) {
    first_newcomer_ = now;
    arm(settle_alarm, now + limits_.join_settle, out);
  }
}

void rendezvous::on_settled(time_point now, effects& out) {
  const auto due = std::min(last_arrival_ + limits_.join_settle,
                            first_newcomer_ + limits_.last_call);
  if (due > now)
    arm(settle_alarm, due, out);
  else
    revoke(std::to_string(tally_.newcomers) + " more joined", std::nullopt,
           out);
}

// The first failure that we hear of ends the epoch.
void rendezvous::fail(effects& out) {
  failed_ = true;
  revoke(to_string(failures_.first()), failures_.first(), out);
  settle();
}

// One that we hear of later may have been the first all the same.
void rendezvous::note(const agent_id& agent, collateral failures,
                      time_point now) {
  for (auto& x : failures.listed)
    x.agent = agent;
  failures_.add(failures, now);
  if (failed_)
    settle();
}

// An agent of the epoch has gone. Workers elsewhere that failed meanwhile did
// so because they missed its workers; its own failures remain its own.
void rendezvous::exempt(const agent_record& record, const std::string& reason) {
  if (phase_ != phase::stopping || record.member_of != epoch_
      || record.share == share_state::succeeded)
    return;
  departures_.push_back({record.offering.agent, reason});
  if (failed_)
    settle();
}

void rendezvous::settle() {
  const auto* exemption = find_exemption();
  last_failure_ = failures_.first();
  why_ = exemption == nullptr ? to_string(*last_failure_) : *exemption;
}

const std::string* rendezvous::find_exemption() const {
  const auto& first = failures_.first();
  if (first.kind == failure_kind::not_started)
    return nullptr;
  const auto i
    = std::find_if(departures_.rbegin(), departures_.rend(),
                   [&](const auto& x) { return x.agent != first.agent; });
  return i == departures_.rend() ? nullptr : &i->reason;
}

void rendezvous::conclude_epoch(time_point now, effects& out) {
  phase_ = phase::gathering;
  if (!failures_.empty())
    settle_failures(now, out);
  failures_.clear();
  departures_.clear();
  failed_ = false;
  has_quarantined_ = false;
}

// All have been told now. What failed in an epoch that had ended for another
// reason costs nothing either.
void rendezvous::settle_failures(time_point now, effects& out) {
  const auto first = failures_.first(now);
  const auto others = failures_.others(now);
  const auto* exemption = failed_ ? find_exemption() : &why_;
  if (exemption != nullptr || !others.empty())
    out.emplace_back(
      explain_failures{epoch_, first, others, exemption ? *exemption : ""});
  auto how = outcome{.kind = outcome::verdict::failed,
                     .first_failure = first,
                     .other_failures = others.listed,
                     .unlisted_failure_count = others.unlisted_count,
                     .reason = to_string(first)};
  if (has_quarantined_ && tally_.candidates < settings_.agent_count_min) {
    if (exemption != nullptr)
      attribute_unkillable(how);
    how.reason = to_string(*how.first_failure)
                 + "; too few nodes are left: " + marks_.text();
    end(std::move(how), now, out);
  } else if (exemption == nullptr
             && policy_.on_failure(epoch_, first)
                  == restart_policy::answer::give_up) {
    end(std::move(how), now, out);
  }
}

// -- nodes whose workers cannot be killed -------------------------------------

void rendezvous::put_in_quarantine(agent_record& record,
                                   uint32_t unkillable_count) {
  const auto& x = record.offering;
  if (!marks_.add({x.agent, x.host, unkillable_count}))
    return;
  change(record, [](auto& y) { y.leaving = true; });
  has_quarantined_ = true;
}

void rendezvous::revoke(const std::string& reason,
                        const std::optional<worker_failure>& failure,
                        effects& out) {
  assert(active());
  auto order = revoke_epoch{epoch_, {}, reason, failure};
  for (auto& [id, record] : agents_) {
    if (record.holds != epoch_)
      continue;
    order.agents.push_back(id);
    change(record, [](auto& x) { x.share = share_state::stopping; });
  }
  disarm(settle_alarm);
  hurry_ = true;
  why_ = reason;
  phase_ = phase::stopping;
  out.emplace_back(std::move(order));
}

// -- after the last epoch -----------------------------------------------------

void rendezvous::end(outcome result, time_point now, effects& out) {
  assert(phase_ != phase::ended);
  phase_ = phase::ended;
  result_ = std::move(result);
  for (size_t i = 0; i < alarm_count; ++i)
    if (i != lease_alarm)
      disarm(alarm(i));
  auto order = end_job{*result_, {}};
  for (const auto& [id, record] : agents_)
    order.agents.push_back(id);
  out.emplace_back(std::move(order));
  arm(close_alarm, now + limits_.close, out);
}

void rendezvous::close_if_empty(effects& out) {
  if (!agents_.empty() || closed_)
    return;
  closed_ = true;
  out.emplace_back(close_job{});
}

} // namespace actorrun::core
