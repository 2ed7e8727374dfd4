#include "actors/core/protocol/rendezvous.hpp"

#include "actors/core/protocol/admission.hpp"
#include "actors/core/protocol/operator_desk.hpp"
#include "actors/core/protocol/rank_assignment.hpp"
#include "actors/core/protocol/stand_by.hpp"
#include "actors/core/text.hpp"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <string>
#include <utility>

namespace actorrun::core {

namespace {

/// How long a stop of workers takes at the most: where an agent does not say so, …
constexpr auto usual_stop_limit = std::chrono::minutes{2};
/// … and whatever it says.
constexpr auto longest_stop_limit = std::chrono::hours{1};

answer_operator answer_of(const operator_decision& x, const std::string& by) {
  return {by, x.what, x.answer ? errc::none : x.answer.error().code,
          x.answer ? *x.answer : x.answer.error().text};
}

} // namespace

rendezvous::rendezvous(job_settings settings, timeouts limits,
                       const restart_rules& rules)
  : limits_(limits), orders_(settings, limits.lease()), agents_(settings),
    costs_(limits.join_settle, limits.rejoin_backoff, rules.exclude_after),
    job_(step_, limits_, agents_),
    generation_(step_, job_, agents_, orders_, costs_, recovery_, quarantine_,
                rules),
    newcomers_(step_, limits_, job_, agents_, orders_, costs_),
    regrouping_(step_, limits_, job_, agents_, orders_, costs_, recovery_,
                newcomers_, generation_),
    reports_(step_, limits_, job_, agents_, costs_, quarantine_, generation_,
             regrouping_),
    takeover_(step_, limits_, job_, agents_, orders_, recovery_, generation_,
              regrouping_, reports_) {
  assert(settings.agent_count_min >= 1);
  assert(settings.agent_count_min <= settings.agent_count_max);
  assert(settings.agent_count_max <= agents_per_generation_max);
  assert(!settings.ranked
         || settings.agent_count_min == settings.agent_count_max);
}

// What concerns one part alone goes there.
std::vector<rendezvous_effect> rendezvous::step(const rendezvous_event& event,
                                                time_point now) {
  step_.begin(now);
  if (job_.is_closed())
    return {};
  std::visit(
    [this]<class Event>(const Event& x) {
      if constexpr (requires { reports_.on(x); })
        reports_.on(x);
      else if constexpr (requires { regrouping_.on(x); })
        regrouping_.on(x);
      else if constexpr (requires { takeover_.on(x); })
        takeover_.on(x);
      else if constexpr (requires { job_.on(x); })
        job_.on(x);
      else
        on(x);
    },
    event);
  act_on_gpu_faults();
  regrouping_.begin_waiting_drains();
  if (!job_.is(phase::ended))
    generation_.attribute_failures();
  auto before = job_.current();
  do {
    before = job_.current();
    advance();
  } while (!job_.is(before));
  note_charter();
  note_exclusions();
  reports_.arm();
  if (const auto due = costs_.next_due();
      due && !job_.is(phase::ended) && !step_.is_armed(alarm::stand_by))
    step_.arm(alarm::stand_by, *due);
  // An operator may have asked for fewer nodes.
  assert(member_count() <= settings().agent_count_max || !job_.is_active()
         || regrouping_.is_on_the_way() || is_finishing(agents_));
  return step_.take();
}

void rendezvous::on(const coordinator_started& event) {
  recovery_.see(event.known.newest);
  orders_.begin(event.known, event.names_hosts, event.successor, step_.now());
  if (event.successor && event.is_proved) {
    orders_.trust(event.known, step_.now());
    generation_.know(event.known);
    agents_.resize(settings().agent_count_max);
  }
  job_.begin(event);
  orders_.exclude_listed(event.listed, step_.now());
  keeps_list_ = event.keeps_list;
  std::ranges::copy_if(
    event.listed, std::back_inserter(listed_),
    [&](const auto& x) { return orders_.excluded().find(x.host) != nullptr; });
  if (!job_.is(phase::ended))
    takeover_.begin(event);
}

void rendezvous::on(const agent_joined& event) {
  const auto& agent = event.offering.agent;
  const auto now = step_.now();
  // It is of the next job with this name.
  if (job_.was_over() && !event.held && !event.told)
    return step_.add(reject_agent{
      agent, errc::connection_failed,
      "the job before has ended here, and its last nodes are told; try again"});
  const auto entry
    = admission{agents_, orders_, recovery_, reports_.leases(), limits_, now};
  if (auto why = entry.refusal(event))
    return step_.add(reject_agent{agent, why->code, std::move(why->text)});
  auto* record = agents_.find(agent);
  if (record == nullptr) {
    quarantine_.clear(event.offering.host);
    newcomers_.add_arrival();
    record = &agents_.add(event.offering);
    regrouping_.follow_drain(*record);
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
    takeover_.hear(agent, *event.told);
  agents_.set_excluded(*record,
                       orders_.excluded().find(event.offering.host) != nullptr);
  costs_.node_is_here(agent, event.offering.host, now);
  agents_.change(*record,
                 [&](auto& x) { x.stands_by = costs_.stands_by(agent); });
  if (event.offering.leased)
    reports_.grant(agent);
  step_.add(accept_agent{agent});
  if (job_.is(phase::ended))
    return job_.report_end(agent);
  takeover_.reconcile(*record, event.held);
  // The notice may have been lost with the link.
  if (!job_.is(phase::ended) && record->is_draining())
    regrouping_.notify(*record);
}

// It comes with its next offer, too.
void rendezvous::on(const fitness_reported& event) {
  auto* record = agents_.find(event.agent);
  if (record == nullptr || record->offering.unfit == event.unfit)
    return;
  const auto before = agents_.counts().newcomers;
  agents_.change(*record, [&](auto& x) { x.offering.unfit = event.unfit; });
  if (record->is_candidate())
    newcomers_.add_arrival();
  if (agents_.counts().newcomers > before && job_.is_active())
    newcomers_.admit({agents_.title(*record) + " may take part again"}, 1);
}

void rendezvous::on(const gpus_reported& event) {
  auto* record = agents_.find(event.agent);
  if (record == nullptr)
    return;
  record->gpu_trouble.reset();
  if (event.trouble.empty())
    return;
  record->gpu_trouble = event.trouble;
  faulty_.insert(event.agent);
}

// Once for each fault, as soon as it can be done. An agent that says one thing and then
// another causes no line in the log.
void rendezvous::act_on_gpu_faults() {
  using enum gpu_fault_action;
  if (faulty_.empty())
    return;
  const auto view = operator_view_now();
  if (!view.why_not_now.empty())
    return;
  const auto action = generation_.budget().rules().on_gpu_fault;
  std::erase_if(faulty_, [&](const auto& agent) {
    const auto* record = agents_.find(agent);
    if (record == nullptr || !record->gpu_trouble || action == report)
      return true;
    if (action == drain && record->drain)
      return true;
    const auto& host = record->offering.host;
    const auto can_go
      = action == drain
          ? !settings().ranked && record->connected
              && agents_.is_at_work(*record) && agents_.has_sound_newcomer()
          : agents_.can_do_without(host, settings().agent_count_min);
    if (can_go && action == drain)
      drain_faulty(*record);
    else if (can_go)
      generation_.exclude_by_rule(host, std::string{gpu_fault_option} + ": "
                                          + *record->gpu_trouble);
    return can_go;
  });
}

void rendezvous::drain_faulty(const agent_record& record) {
  const auto view = operator_view_now();
  auto done = operator_desk{agents_, orders_, view}.decide(
    drain_requested{record.offering.agent.value, drain_time_default, true,
                    std::string{gpu_fault_option}});
  auto told
    = report_rule{std::string{gpu_fault_option} + ": "
                  + (done.answer ? *done.answer : done.answer.error().text)};
  carry_out(std::move(done), std::string{gpu_fault_option}, std::move(told));
}

// -- what operators ask -------------------------------------------------------

void rendezvous::on(const stop_requested& event) {
  const auto is_asked = !event.by.empty();
  const auto because = event.reason.empty() ? "" : ": " + event.reason;
  if (job_.is(phase::ended)) {
    if (is_asked)
      step_.add(answer_operator{event.by, "stop", errc::bad_argument,
                                operator_view_now().why_not_now});
    return;
  }
  if (is_asked)
    step_.add(
      answer_operator{event.by, "stop" + because, errc::none,
                      "the job is being stopped; its nodes end with code "
                        + std::to_string(128 + event.signal)});
  job_.end({.kind = outcome::verdict::stopped,
            .first_failure = {},
            .signal = event.signal,
            .reason = is_asked ? "the job was stopped by " + event.by + because
                               : "the job was asked to end by signal "
                                   + std::to_string(event.signal)});
}

operator_view rendezvous::operator_view_now() const {
  auto out = operator_view{.now = step_.now(),
                           .is_active = job_.is_active(),
                           .is_finishing = is_finishing(agents_),
                           .has_safe_points = job_.has_safe_points(),
                           .waits_to_start = waits_to_start()};
  if (job_.is(phase::ended))
    out.why_not_now = "the job has ended: " + job_.result()->reason;
  else if (recovery_.is_listening())
    out.why_not_now
      = "the coordinator has just begun, and waits for the nodes of the one"
        " before it; ask again in a few seconds";
  if (job_.is(phase::stopping))
    out.why_no_generation = "generation " + to_string(generation())
                            + " is being stopped already ("
                            + generation_.reason().text + ")";
  else if (!job_.is_active())
    out.why_no_generation = "no generation runs: " + waiting_for();
  return out;
}

template <class Request>
void rendezvous::on(const Request& request) {
  const auto view = operator_view_now();
  auto done = operator_desk{agents_, orders_, view}.decide(request);
  auto told = answer_of(done, request.by);
  carry_out(std::move(done), request.by, std::move(told));
}

// What comes too early or too late comes again, or is not needed.
void rendezvous::on(const node_noticed& event) {
  const auto* record = agents_.find(event.agent);
  const auto view = operator_view_now();
  if (record == nullptr || record->leaving || record->is_draining()
      || !view.why_not_now.empty())
    return;
  const auto by = notice_text(*record, event.words);
  auto done = operator_desk{agents_, orders_, view}.decide(event);
  auto told = answer_of(done, by);
  carry_out(std::move(done), by, std::move(told));
}

void rendezvous::carry_out(operator_decision x, const std::string& by,
                           rendezvous_effect told) {
  for (const auto& agent : x.no_longer_stand_by)
    if (agents().at(agent).stands_by)
      step_.add(
        stand_by_now().let_in(agents().at(agent), "asked for by " + by));
  if (!x.forgiven_host.empty())
    costs_.forgive(x.forgiven_host);
  if (const auto count = agents_.counts().newcomers;
      !x.admission.empty() && job_.is_active() && count > x.newcomers_before)
    newcomers_.admit(std::move(x.admission), count - x.newcomers_before);
  if (x.begins_to_leave)
    regrouping_.begin_drain(*agents_.find(*x.begins_to_leave));
  if (x.saves_within)
    for (const auto& [id, record] : agents())
      if (record.connected && record.holds.value != 0)
        step_.add(notify_drain{.agent = id,
                               .time = *x.saves_within,
                               .reason = "asked for by " + by,
                               .stays = true});
  if (x.level)
    step_.add(std::move(*x.level));
  if (x.starts_now)
    generation_.start_now();
  step_.add(std::move(told));
  if (x.hands_over)
    step_.add(std::move(*x.hands_over));
  if (x.ends_generation)
    generation_.revoke(*x.ends_generation);
}

void rendezvous::report(std::vector<report_return> returns) {
  for (auto& x : returns)
    step_.add(std::move(x));
}

stand_by rendezvous::stand_by_now() {
  return {agents_, costs_, settings().agent_count_min, step_.now()};
}

// -- timers -------------------------------------------------------------------

void rendezvous::on(const timer_fired& event) {
  const auto fired = step_.take(event.timer);
  if (!fired)
    return;
  switch (fired->which) {
    case alarm::lease:
      return reports_.on_lease_due(fired->due);
    case alarm::join:
      return job_.end({.kind = outcome::verdict::unmet,
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
      return newcomers_.on_late();
    case alarm::safe_point:
      return regrouping_.on_late();
    case alarm::recovery:
      return takeover_.on_recovery_due();
    case alarm::outcome:
      return job_.on(outcome_written{});
    case alarm::next_start:
      return; // `gather` looks.
    case alarm::stand_by:
      return report(stand_by_now().let_in_those_due());
    case alarm::close:
      return job_.on_close_due();
  }
}

// -- what follows, whatever the event was -------------------------------------

void rendezvous::advance() {
  switch (job_.current()) {
    case phase::gathering:
    case phase::last_call:
      return gather();
    case phase::starting:
    case phase::running:
      return supervise();
    case phase::stopping:
      regrouping_.end();
      hurry_ = true;
      if (agents_.counts().holding == 0)
        generation_.conclude();
      return;
    case phase::ended:
      regrouping_.end();
      return job_.close_if_empty();
  }
}

void rendezvous::gather() {
  const auto& counts = agents_.counts();
  const auto min = settings().agent_count_min;
  if (!recovery_.is_listening() && counts.holding == 0) {
    report(stand_by_now().let_in_for_minimum());
  }
  if (counts.candidates >= min)
    step_.disarm(alarm::join);
  // Workers of an older generation must have ended everywhere. Their agents report
  // it, or their leases run out.
  if (recovery_.is_listening() || counts.holding > 0)
    return;
  // If the check finds the node well, no restart is left, and the job has failed.
  if (generation_.awaits_check())
    return job_.enter(phase::gathering);
  if (recovery_.holds_back(step_.now())) {
    job_.enter(phase::gathering);
    if (!step_.is_armed(alarm::recovery))
      step_.arm(alarm::recovery, recovery_.hold_back_end());
    return;
  }
  if (counts.candidates < min)
    return wait_for_minimum();
  if (generation_.next_start() > step_.now())
    return wait_to_start();
  if (counts.candidates >= settings().agent_count_max || hurry_)
    return form();
  if (!job_.is(phase::last_call)) {
    job_.enter(phase::last_call);
    step_.arm(alarm::last_call, step_.now() + limits_.last_call);
    step_.arm(alarm::quiet, step_.now() + quiet());
  }
}

// Nodes that have yet to come have time; those that have gone for good must not
// leave a coordinator behind.
void rendezvous::wait_for_minimum() {
  job_.enter(phase::gathering);
  hurry_ = false;
  for (auto which : {alarm::quiet, alarm::last_call})
    step_.disarm(which);
  if (agents().empty() && generation().value == 0)
    step_.disarm(alarm::join);
  else if (!step_.is_armed(alarm::join))
    step_.arm(alarm::join, step_.now() + limits_.join);
}

// The nodes are here, and the group would end as it has ended before.
bool rendezvous::waits_to_start() const {
  return job_.is(phase::gathering) && generation_.next_start() > step_.now()
         && agents_.counts().holding == 0 && !recovery_.holds_back(step_.now())
         && agents_.counts().candidates >= settings().agent_count_min;
}

void rendezvous::wait_to_start() {
  job_.enter(phase::gathering);
  if (step_.due(alarm::next_start) != generation_.next_start())
    step_.arm(alarm::next_start, generation_.next_start());
}

// Arrivals do not arm this timer again; instead it looks at the last arrival
// when it fires.
void rendezvous::on_quiet() {
  const auto due = newcomers_.last_arrival() + quiet();
  if (due <= step_.now())
    hurry_ = true;
  else
    step_.arm(alarm::quiet, due);
}

// A job that regroups needs less time than one that starts: its agents run
// already.
duration rendezvous::quiet() const {
  return generation().value == 0 ? limits_.quiet : limits_.join_settle;
}

void rendezvous::form() {
  assert(agents_.counts().holding == 0);
  assert(!recovery_.holds_back(step_.now()));
  orders_.settle();
  generation_.begin();
  newcomers_.forget_admission();
  auto plans = agents_.form(recovery_.name_generation(generation()),
                            budget().restart_count());
  for (auto which : {alarm::quiet, alarm::last_call})
    step_.disarm(which);
  job_.enter(phase::starting);
  step_.add(announce_generation{std::move(plans), generation_.reason().text});
}

void rendezvous::supervise() {
  if (agents_.counts().unfinished == 0)
    return job_.end({.kind = outcome::verdict::succeeded,
                     .first_failure = {},
                     .signal = 0,
                     .reason = "all workers of generation "
                               + to_string(generation()) + " succeeded"});
  if (agents_.counts().starting == 0)
    job_.enter(phase::running);
  regrouping_.advance();
}

// -- what is the job's, and what it waits for ---------------------------------

charter rendezvous::job() const {
  auto out = orders_.told();
  out.newest = highest_number();
  return out;
}

charter rendezvous::job_and_end() const {
  auto out = job();
  out.decided = result();
  return out;
}

void rendezvous::note_charter() {
  const auto is_news
    = orders_.revise(budget(), costs_.failing_hosts(),
                     recovery_.is_learning(step_.now()), !recovery_.is_open());
  if (!is_news || job_.is(phase::ended))
    return;
  auto order = tell_charter{};
  for (const auto& [id, x] : agents())
    if (x.connected)
      order.agents.push_back(id);
  if (!order.agents.empty())
    step_.add(std::move(order));
}

// What an earlier coordinator has excluded is known when its agents have been heard.
void rendezvous::note_exclusions() {
  const auto& now = orders_.excluded();
  if (!keeps_list_ || recovery_.is_listening() || now.list() == listed_)
    return;
  for (const auto& x : now.list())
    if (std::ranges::find(listed_, x.host, &excluded_host::host)
        == listed_.end())
      step_.add(list_exclusion{x});
  for (const auto& x : listed_)
    if (now.find(x.host) == nullptr)
      step_.add(unlist_exclusion{x.host});
  listed_ = now.list();
}

job_wait rendezvous::wait() const {
  auto out = job_wait{.phase = job_.current(),
                      .counts = agents_.counts(),
                      .settings = settings(),
                      .generation = generation(),
                      .reason = generation_.reason().text,
                      .awaited_check = generation_.awaited_check(),
                      .is_listening = recovery_.is_listening(),
                      .holds_back = recovery_.holds_back(step_.now()),
                      .awaits_ahead = step_.is_armed(alarm::ahead),
                      .on_the_way = regrouping_.way(),
                      .newcomers_wait = costs_.newcomers_due() - step_.now()};
  if (waits_to_start())
    out.alike = generation_.last_end().alike;
  if (const auto until = waits_until())
    out.time_left = *until - step_.now();
  return out;
}

std::optional<time_point> rendezvous::waits_until() const {
  switch (job_.current()) {
    case phase::gathering:
      return step_.due(recovery_.holds_back(step_.now()) ? alarm::recovery
                       : waits_to_start()                ? alarm::next_start
                                                         : alarm::join);
    case phase::last_call:
      return step_.due(alarm::last_call);
    case phase::running:
      return step_.due(regrouping_.is_on_the_way()    ? alarm::safe_point
                       : step_.is_armed(alarm::ahead) ? alarm::ahead
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
  if (x != nullptr && !x->offering.unfit.empty())
    return "stands by: " + x->offering.unfit;
  if (x != nullptr && x->stands_by)
    return stand_by_text(*x, costs_, step_.now());
  const auto is_placed
    = job_.is_active() && x != nullptr && x->member_of == generation();
  return is_placed ? std::string{} : wait().text_for_node();
}

} // namespace actorrun::core
