#include "actors/core/protocol/takeover.hpp"

#include "actors/core/protocol/operator_desk.hpp"
#include "actors/core/protocol/rank_assignment.hpp"
#include "actors/core/text.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <string>

namespace actorrun::core {

void takeover::begin(const coordinator_started& event) {
  if (!event.successor) {
    recovery_.close(step_.now());
    return recovery_.see(event.unseen);
  }
  recovery_.listen(event.unseen, step_.now() - event.silence);
  know_lease(std::max(limits_.lease(), event.known.lease));
  if (recovery_.hold_back_end() <= step_.now()) // All leases are over.
    step_.arm(alarm::recovery, step_.now());
}

void takeover::know_lease(duration lease) {
  const auto longest = std::chrono::ceil<std::chrono::milliseconds>(
    std::min<duration>(lease, lease_max));
  orders_.know_lease(longest);
  if (recovery_.know_lease(longest, step_.now()))
    step_.arm(alarm::recovery, recovery_.hold_back_end());
}

void takeover::hold_back_until(time_point end) {
  if (recovery_.hold_back_until(end, step_.now()))
    step_.arm(alarm::recovery, end);
}

void takeover::hear(const agent_id& agent, const charter& told) {
  if (told.newest < claimed_generation_end)
    recovery_.see(told.newest);
  if (!recovery_.is_learning(step_.now()))
    return;
  know_lease(told.lease);
  const auto known = orders_.hear(agent, told, step_.now());
  if (!known)
    return;
  generation_.know(*known);
  agents_.resize(orders_.settings().agent_count_max);
  for (const auto& [id, x] : agents_.records()) {
    auto& record = *agents_.find(id);
    agents_.set_excluded(record,
                         orders_.excluded().find(x.offering.host) != nullptr);
    regrouping_.follow_drain(record);
  }
}

// -- what agents claim to hold ------------------------------------------------

void takeover::reconcile(agent_record& record,
                         const std::optional<claim>& held) {
  record.set_parked(
    held && !may_run(held->state) ? held->parked : parked_share{}, step_.now());
  if (held) {
    take_drain(record, *held);
    recovery_.see(held->plan.generation);
    generation_.know_restarts(held->plan.restart_count);
  } else {
    recovery_.forget(record.offering.agent);
  }
  if (held && recovery_.is_claim_odd(agents_.generation()))
    hold_back_until(step_.now() + limits_.lease());
  if (held && recovery_.is_open()
      && (recovery_.is_listening()
          || (held->plan.generation >= agents_.generation()
              && held->plan.node_count >= orders_.settings().agent_count_min)))
    return recover(record, *held);
  if (record.holds == agents_.generation()
      && (job_.is_active() || job_.is(phase::stopping)))
    return rejoin(record, held);
  const auto runs = held && may_run(held->state);
  agents_.change(record, [&](auto& x) {
    x.holds = runs ? held->plan.generation : generation_id{};
  });
  if (runs)
    end_older(record, held->plan.generation);
}

// Which operator it was, another coordinator knows.
void takeover::take_drain(agent_record& record, const claim& held) {
  if (!held.drain_left || record.drain)
    return;
  agents_.change(record, [&](auto& x) {
    const auto now = step_.now();
    const auto left
      = std::clamp<duration>(*held.drain_left, duration{0}, drain_time_max);
    const auto& words = held.notice;
    auto order = drain_order{};
    order.by = words ? notice_text(x, *words) : "an operator";
    order.time = left;
    order.due = now + left;
    order.asked = now;
    order.is_notice = words.has_value();
    x.drain = std::move(order);
  });
}

void takeover::end_older(agent_record& record, generation_id generation) {
  record.expect_stop(step_.now());
  step_.add(revoke_generation{generation,
                              {record.offering.agent},
                              {"the generation is over"},
                              std::nullopt,
                              true});
}

// A member of the generation that runs or stops is back after its link broke.
void takeover::rejoin(agent_record& record, const std::optional<claim>& held) {
  const auto& agent = record.offering.agent;
  const auto running = agents_.generation();
  const auto is_current = held && held->plan.generation == running;
  if (job_.is(phase::stopping)) {
    if (is_current && held->failure)
      generation_.add(agent, {{*held->failure}, 0});
    step_.add(
      revoke_generation{running, {agent}, generation_.reason(), std::nullopt});
  } else if (is_current) {
    resume(record, *held);
  } else { // The link broke before the plan had arrived.
    step_.add(announce_generation{{agents_.plan_for(record)},
                                  generation_.reason().text});
  }
}

void takeover::resume(agent_record& record, const claim& held) {
  const auto agent = record.offering.agent;
  const auto running = agents_.generation();
  if (held.failure || held.state == share_state::failed)
    reports_.on(
      worker_failed{agent, running, held.failure.value_or(worker_failure{})});
  switch (held.state) {
    case share_state::starting:
      return;
    case share_state::running:
      reports_.on(workers_started{agent, running});
      return regrouping_.repeat_order(agent); // It may have been lost.
    case share_state::succeeded:
      return reports_.on(workers_succeeded{agent, running});
    case share_state::failed:
      return;
    case share_state::idle:
      return reports_.on(workers_stopped{
        .agent = agent, .generation = running, .parked = record.parked});
    case share_state::stopping:
      if (job_.is_active())
        generation_.revoke(agent_was_cut_off(agent, false));
      return;
  }
}

// -- the generation of an earlier coordinator ---------------------------------

void takeover::recover(agent_record& record, const claim& held) {
  const auto progress
    = recovery_.take(agents_, record, held, orders_.settings().agent_count_min);
  if (progress.has_begun) {
    job_.enter(phase::gathering); // Whoever listens makes no last call.
    hold_back_until(step_.now() + limits_.lease());
  }
  if (progress.is_newer)
    generation_.forget_failures();
  if (progress.failure)
    generation_.add(record.offering.agent, {{*progress.failure}, 0});
  if (progress.is_complete)
    conclude();
}

void takeover::on(const member_ended& event) {
  if (recovery_.account_for(agents_, event))
    conclude();
}

// Whoever moves that moment arms the alarm anew.
void takeover::on_recovery_due() {
  assert(step_.now() >= recovery_.hold_back_end());
  if (recovery_.is_listening())
    conclude();
}

void takeover::conclude() {
  for (auto which :
       {alarm::recovery, alarm::join, alarm::quiet, alarm::last_call})
    step_.disarm(which);
  const auto found = recovery_.conclude(agents_);
  for (const auto& x : found.stale)
    end_older(*agents_.find(x.agent), x.generation);
  if (!found.has_generation)
    return;
  raise_maximum();
  if (found.is_done && !generation_.has_failed())
    return end_unproved(found);
  job_.enter(phase::starting); // Or running: `supervise` looks.
  generation_.begin();
  if (found.ended) // No agent that is elsewhere has workers.
    recovery_.end_hold_back(step_.now());
  const auto count = agents_.common_plan().node_count;
  const auto is_incomplete
    = found.member_count < count || count < orders_.settings().agent_count_min;
  const auto came_back
    = std::to_string(is_incomplete ? found.member_count : found.stopped_count)
      + " of " + counted(count, "agent") + " of generation "
      + to_string(agents_.generation()) + " came back to the new coordinator"
      + (is_incomplete ? "" : " without their workers");
  const auto news = found.ended ? "agent " + to_string(found.ended->agent)
                                    + " has ended with its workers, as its "
                                      "host confirms"
                                : came_back;
  if (generation_.has_failed())
    generation_.fail_recovered(news);
  else if (is_incomplete || found.stopped_count > 0)
    generation_.revoke({news});
}

// An operator may have given the job other numbers of nodes before. An order that
// is known counts more than a generation that was to be ended for it.
void takeover::raise_maximum() {
  const auto count = agents_.common_plan().node_count;
  if (orders_.settings().ranked || !orders_.resize_reason().empty()
      || count > agents_per_generation_max
      || count <= orders_.settings().agent_count_max)
    return;
  orders_.raise_maximum(count, {"generation " + to_string(agents_.generation())
                                + " was found with " + counted(count, "node")});
  agents_.resize(count);
}

// All members that are back have succeeded, and so may the others have: who has
// learned that the job has ended has gone. It is not run again.
void takeover::end_unproved(const generation_recovery::findings& found) {
  const auto count = agents_.common_plan().node_count;
  const auto is_whole = found.member_count == count
                        && count >= orders_.settings().agent_count_min;
  // Whose workers run in another generation shows that this one was not the last,
  // unless all others of it are here to say so.
  if (found.is_contradicted && (!is_whole || found.member_count == 1)) {
    agents_.dismiss_members();
    generation_.explain(
      {"workers of several generations came back to the new coordinator"});
    return;
  }
  job_.enter(phase::running);
  generation_.begin();
  if (is_whole)
    return;
  job_.end({.kind = outcome::verdict::unmet,
            .first_failure = {},
            .signal = 0,
            .reason
            = "the workers of generation " + to_string(agents_.generation())
              + " on " + std::to_string(found.member_count) + " of "
              + counted(count, "node")
              + " have succeeded, and the others did not come back to the new"
                " coordinator: nothing shows whether the job has, and it is not"
                " run again"});
}

} // namespace actorrun::core
