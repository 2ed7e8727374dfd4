#include "actors/core/protocol/node_workers.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace actorrun::core {

// -- generations --------------------------------------------------------------

// A coordinator that does not know that it is over must not wait for us.
bool node_workers::refuse(generation_id generation) {
  if (generation > newest_)
    return false;
  if (!share_.holds(generation) && (!next_ || next_->generation != generation))
    link_.send(send_stopped{generation, 0});
  return true;
}

void node_workers::take(const generation_plan& plan, bool is_leaving) {
  newest_ = plan.generation;
  if (is_leaving) {
    step_.add(send_stopped{newest_, 0});
  } else if (lease_.is_over(step_.now())) {
    next_ = plan; // This process may have slept: wait for the next grant.
  } else if (share_.may_run()) {
    next_ = plan;
    share_.revoke();
    share_.kill();
    step_.add(kill_group{share_.generation()});
  } else {
    begin(plan);
  }
}

void node_workers::begin(const generation_plan& plan) {
  safe_point_.reset();
  step_reached_.reset();
  share_.begin(plan);
  step_.add(set_fence{lease_.due()});
  step_.add(start_group{plan});
}

void node_workers::begin_next() {
  if (next_)
    begin(*std::exchange(next_, std::nullopt));
}

void node_workers::forget_next() {
  if (next_)
    newest_ = share_.generation();
  next_.reset();
}

void node_workers::on(const generation_revoked& event) {
  newest_ = std::max(newest_, event.generation);
  if (next_ && next_->generation <= event.generation)
    next_.reset();
  if (!share_.may_run() || share_.generation() > event.generation) {
    const auto is_held = share_.holds(event.generation);
    if (is_held)
      share_.revoke();
    if (link_.is(coordinator_link::state::seeking))
      return; // There is no link for the answer.
    // Those that are parked have waited for too long: told when they have ended.
    if (event.is_over && share_.generation() == event.generation
        && !share_.parked().local_ranks.empty())
      return stop(0);
    if (is_held)
      report_stopped(0);
    else
      step_.add(send_stopped{.generation = event.generation,
                             .parked = share_.parked()});
  } else if (event.is_over) {
    share_.kill();
    step_.add(kill_group{share_.generation()});
  } else if (share_.is_active()) {
    park(event.reason);
  } else {
    share_.revoke();
  }
}

// The answer says which of them live when all that do are parked. Those that have
// been asked for before, or still end, are reported in any case.
void node_workers::start_ahead(const start_ahead_ordered& event) {
  if (share_.may_run()) { // `group_stopped` answers for the newest.
    if (share_.is_ahead())
      newest_ = std::max(newest_, event.generation);
    return;
  }
  if (event.generation < newest_ || next_
      || !share_.parked().local_ranks.empty()
      || share_.holds(event.generation)) {
    step_.add(
      send_stopped{.generation = event.generation, .parked = share_.parked()});
    return;
  }
  newest_ = event.generation;
  share_.begin_ahead(event.generation);
  auto plan = generation_plan{};
  plan.generation = event.generation;
  plan.own.agent = offer_.agent;
  plan.own.slot_count = offer_.slot_count;
  plan.restart_count = event.restart_count;
  plan.is_ahead = true;
  step_.add(set_fence{lease_.due()});
  step_.add(start_group{std::move(plan)});
}

void node_workers::park(std::string reason) {
  share_.park();
  step_.add(stop_group{.generation = share_.generation(),
                       .may_park = true,
                       .reason = std::move(reason)});
}

// -- what the worker group reports --------------------------------------------

// The coordinator counts on them, and names them in the next plan.
void node_workers::on(const group_parked& event) {
  if (!share_.holds(event.generation) || share_.may_run())
    return;
  share_.set_parked(event.parked);
  if (link_.is_connected())
    report_stopped(0);
}

void node_workers::run(const group_started& event) {
  share_.run();
  link_.send(send_started{event.generation, event.pids});
}

void node_workers::fail(worker_failure failure) {
  share_.fail(failure, step_.now());
  link_.send(send_failed{share_.generation(), std::move(failure)});
  park("a worker of this node has failed");
}

void node_workers::succeed() {
  share_.succeed();
  link_.send(send_succeeded{share_.generation()});
}

void node_workers::end(const group_stopped& event) {
  share_.end(event.parked);
  if (event.unkillable_count > 0)
    unkillable_count_ = event.unkillable_count;
  step_reached_ = event.step;
}

void node_workers::report_end() {
  if (!link_.is_connected())
    return;
  report_stopped(offer_.master_port);
  // A newer generation that was revoked before it could begin here.
  if (!next_ && newest_ > share_.generation())
    step_.add(send_stopped{.generation = newest_,
                           .master_port = offer_.master_port,
                           .parked = share_.parked()});
}

void node_workers::report_stopped(uint16_t master_port) {
  step_.add(send_stopped{share_.generation(), master_port,
                         share_.others(step_.now()), unkillable_count_,
                         share_.parked(), step_reached_});
}

// -- the end ------------------------------------------------------------------

void node_workers::stop(int signal) {
  if (share_.stop())
    step_.add(stop_group{share_.generation(), signal});
}

void node_workers::kill_fenced() {
  share_.kill();
  step_.add(kill_group{share_.generation(), true});
}

// -- safe points --------------------------------------------------------------

void node_workers::on(const group_safe_point& event) {
  if (!share_.holds(event.generation) || share_.state() != share_state::running)
    return;
  const auto is_first = !std::exchange(safe_point_, event.report);
  if (!link_.is_connected())
    return;
  step_.add(send_safe_point{event.generation, event.report});
  if (is_first) // The limit may have come near while the group changed.
    want_safe_point();
}

// What they have answered before counts no more. Until they answer this one, the
// next coordinator must know that some may hold.
void node_workers::on(const safe_point_ordered& event) {
  if (!share_.holds(event.generation) || share_.state() != share_state::running)
    return;
  using kind = safe_point_order::kind;
  if (safe_point_)
    safe_point_ = safe_point_report{
      .what = safe_point_report::kind::stepping,
      .round = event.order.what == kind::go_on ? 0 : event.order.round};
  step_.add(order_safe_point{event.generation, event.order});
}

// Of workers that have no safe points each saves when it likes.
void node_workers::on(const limit_near& event) {
  limit_ = step_.now() + event.left;
  if (!has_safe_points() && share_.state() == share_state::running)
    step_.add(notify_workers{share_.generation()});
  else if (has_safe_points() && link_.is_connected())
    want_safe_point();
}

void node_workers::report_safe_points() {
  if (has_safe_points())
    step_.add(send_safe_point{share_.generation(), *safe_point_});
  want_safe_point();
}

// The coordinator knows a limit that it has heard of before.
void node_workers::want_safe_point() {
  if (limit_ && step_.now() < *limit_ && share_.state() == share_state::running)
    step_.add(send_safe_point{
      share_.generation(),
      {.what = safe_point_report::kind::wanted,
       .left
       = std::chrono::ceil<std::chrono::milliseconds>(*limit_ - step_.now())}});
}

} // namespace actorrun::core
