#include "actors/core/protocol/regrouping.hpp"

#include "actors/core/text.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

std::optional<job_wait::round> regrouping::way() const {
  if (!is_on_the_way())
    return std::nullopt;
  return job_wait::round{reason(), round_.has_step()
                                     ? std::optional{round_.order().step}
                                     : std::nullopt};
}

void regrouping::advance() {
  if (round_.is_active() && reason().empty())
    call_off("nothing is to change");
  if (round_.is_active())
    return;
  if (const auto x = change(); x.is_due() || newcomers_.are_due(x))
    make(x);
  else if (save_.limit())
    save_before_limit();
}

void regrouping::end() {
  newcomers_.end();
  round_.end();
  step_.disarm(alarm::safe_point);
}

// -- what is to change ----------------------------------------------------------

// Nodes that have come may have left again, and others have come.
group_change regrouping::change_now() const {
  auto out = change();
  if (out.what == group_change::kind::newcomers
      && step_.now() < costs_.newcomers_due())
    out = {};
  return out;
}

std::string regrouping::reason() const {
  auto reason = change_now().reason;
  return reason.empty() && save_.limit() ? "the time limit of the job is near"
                                         : reason.text;
}

void regrouping::make(const group_change& x) {
  if (job_.has_safe_points())
    begin_round(limits_.safe_point);
  else
    make_at_once(x);
}

void regrouping::make_at_once(const group_change& x) {
  auto let_in = std::vector<agent_id>{};
  for (const auto& [id, y] : agents_.records())
    if (x.what == group_change::kind::newcomers && y.is_candidate()
        && y.member_of != agents_.generation())
      let_in.push_back(id);
  generation_.revoke(x.reason, {}, std::move(let_in));
}

// No generation ends for it: if a worker fails meanwhile, those of the next are
// asked.
void regrouping::save_before_limit() {
  const auto limit = *save_.limit();
  if (step_.now() >= limit)
    save_.drop();
  else if (job_.has_safe_points())
    begin_round(std::min<duration>(limits_.safe_point, limit - step_.now()));
}

// -- all come to one step -------------------------------------------------------

void regrouping::begin_round(duration time) {
  auto members = agents_.busy_members();
  round_.begin(members, step_.now());
  newcomers_.end();
  step_.arm(alarm::safe_point, step_.now() + time);
  send_order(std::move(members), reason());
}

// A member may answer an order of a coordinator that is gone, or one that has been
// called off while it was out of touch.
void regrouping::on(const safe_point_reported& event) {
  auto* record = agents_.find_member(event.agent, event.generation);
  if (record == nullptr || record->holds != event.generation
      || job_.is(phase::stopping) || job_.is(phase::ended))
    return;
  using kind = safe_point_report::kind;
  const auto& report = event.report;
  record->steps_in = event.generation;
  if (report.what == kind::wanted)
    return save_.want(step_.now() + report.left);
  if (is_on_the_way())
    follow(round_.take(event.agent, report));
  else if (report.may_hold())
    send_order({event.agent}, "nothing is to change");
}

void regrouping::leave(const agent_id& agent) {
  if (is_on_the_way() && agents_.counts().unfinished > 0)
    follow(round_.leave(agent));
}

void regrouping::repeat_order(const agent_id& agent) {
  if (is_on_the_way())
    send_order({agent}, reason());
}

void regrouping::on_late() {
  if (job_.is_active())
    conclude("the workers have come to no safe point in "
             + duration_text(step_.now() - round_.began()));
}

void regrouping::follow(safe_point_round::progress x) {
  switch (x) {
    case safe_point_round::progress::none:
      return;
    case safe_point_round::progress::all_hold:
      return send_order(agents_.busy_members(), reason());
    case safe_point_round::progress::all_there:
      return conclude({});
    case safe_point_round::progress::refused:
      return conclude_refused();
  }
}

// Workers without safe points get notice, and the time that was promised.
void regrouping::conclude_refused() {
  constexpr auto what_is_amiss = "some workers cannot be told where to stop";
  if (change().what != group_change::kind::drain)
    return conclude(what_is_amiss);
  save_.settle();
  for (const auto& [id, x] : agents_.records())
    if (x.is_draining() && x.drain->at_safe_point
        && x.holds == agents_.generation()) {
      auto& record = *agents_.find(id);
      record.drain->at_safe_point = false;
      notify(record);
    }
  call_off(what_is_amiss);
}

// If they were only to save, they go on.
void regrouping::conclude(const std::string& what_is_amiss) {
  const auto was_to_save = save_.settle();
  if (auto x = change_now(); !x.reason.empty()) {
    x.reason.text += (what_is_amiss.empty() ? "" : "; ") + what_is_amiss;
    x.reason.at_safe_point = what_is_amiss.empty();
    make_at_once(x);
  } else if (!what_is_amiss.empty()) {
    call_off("they have not saved: " + what_is_amiss);
  } else if (was_to_save) {
    call_off("all have saved at step " + std::to_string(round_.order().step));
  }
}

void regrouping::call_off(std::string reason) {
  round_.end();
  send_order(agents_.busy_members(), std::move(reason));
  step_.disarm(alarm::safe_point);
}

void regrouping::send_order(std::vector<agent_id> agents, std::string reason) {
  step_.add(send_safe_point_order{agents_.generation(), std::move(agents),
                                  round_.order(), std::move(reason)});
}

// -- nodes that are to leave ----------------------------------------------------

void regrouping::follow_drain(agent_record& record) const {
  const auto* x = orders_.find_drain(record.offering.agent);
  if (x == nullptr && record.waits_to_drain())
    record.drain.reset();
  else if (x != nullptr && !record.drain)
    record.drain
      = drain_order{.by = x->by, .time = x->time, .asked = step_.now()};
}

// One after the other: the first may take the place that the second waits for.
void regrouping::begin_waiting_drains() {
  if (orders_.drains().empty() || job_.is(phase::ended))
    return;
  orders_.erase_drains([&](const pending_drain& x) {
    auto* record = agents_.find(x.agent);
    if (record == nullptr) // It may be of those that have yet to come back.
      return !recovery_.is_learning(step_.now());
    if (record->leaving || !record->waits_to_drain())
      return true;
    if (!record->connected
        || !agents_.is_replaced(*record, orders_.settings().agent_count_min))
      return false;
    begin_drain(*record);
    return true;
  });
}

void regrouping::begin_drain(agent_record& record) {
  const auto at_safe_point
    = agents_.runs_current(record) && job_.has_safe_points();
  agents_.change(record, [&](auto& x) {
    x.drain->due = step_.now() + x.drain->time;
    x.drain->at_safe_point = at_safe_point;
  });
  notify(record);
  if (!at_safe_point)
    return;
  // Its workers have been promised that time.
  const auto due
    = step_.now() + std::max<duration>(record.drain->time, limits_.safe_point);
  if (!round_.is_active())
    begin_round(due - step_.now());
  else if (step_.due(alarm::safe_point) < due)
    step_.arm(alarm::safe_point, due);
}

void regrouping::notify(const agent_record& record) {
  const auto& drain = *record.drain;
  step_.add(notify_drain{record.offering.agent,
                         std::max(*drain.due - step_.now(), duration{0}),
                         "asked for by " + drain.by, drain.at_safe_point});
}

} // namespace actorrun::core
