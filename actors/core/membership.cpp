#include "actorrun/actors/core/membership.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

namespace actorrun::core {

membership::membership(offer offering, timeouts limits)
  : offer_(std::move(offering)), limits_(limits) {}

std::vector<membership_effect> membership::step(const membership_event& event,
                                                time_point now) {
  auto out = effects{};
  if (link_ != link::finished)
    std::visit([&](const auto& x) { on(x, now, out); }, event);
  return out;
}

// -- what the coordinator says ------------------------------------------------

void membership::on(const epoch_formed& event, time_point now, effects& out) {
  if (event.plan.epoch <= newest_)
    return; // Fencing: it is a duplicate, or over already.
  if (now >= fence_due_ && may_run())
    return on_fence(now, out);
  newest_ = event.plan.epoch;
  if (ending_) {
    out.emplace_back(send_stopped{newest_, 0});
  } else if (now >= fence_due_) {
    next_ = event.plan; // We may have slept: begins with the next grant.
  } else if (may_run()) {
    next_ = event.plan;
    share_ = share_state::stopping;
    out.emplace_back(kill_group{plan_->epoch});
  } else {
    begin(event.plan, out);
  }
}

void membership::on(const epoch_revoked& event, time_point, effects& out) {
  newest_ = std::max(newest_, event.epoch);
  if (next_ && next_->epoch <= event.epoch)
    next_.reset();
  if (!may_run() || plan_->epoch > event.epoch) {
    if (holds(event.epoch))
      share_ = share_state::idle;
    out.emplace_back(send_stopped{event.epoch, 0});
  } else if (share_ == share_state::failed) {
    share_ = share_state::stopping;
  } else {
    stop(0, out);
  }
}

void membership::on(const job_ended& event, time_point now, effects& out) {
  if (ending_ && ending_->result)
    return;
  end({.result = event.result, .why = {}, .signal = 0}, 0, now, out);
}

// -- what the worker group says -----------------------------------------------

void membership::on(const group_started& event, time_point, effects& out) {
  if (!holds(event.epoch) || share_ != share_state::starting)
    return;
  share_ = share_state::running;
  if (connected())
    out.emplace_back(send_started{event.epoch, event.pids});
}

void membership::on(const group_failed& event, time_point now, effects& out) {
  if (!holds(event.epoch)
      || (share_ != share_state::starting && share_ != share_state::running))
    return;
  // Past the fence the machine kills them even if we slept: an ordered death.
  if (now >= fence_due_ && event.failure.kind == failure_kind::signalled
      && event.failure.code == SIGKILL)
    return on_fence(now, out);
  share_ = share_state::failed;
  failure_ = event.failure;
  gone_ = false;
  if (connected())
    out.emplace_back(send_failed{event.epoch, event.failure});
  out.emplace_back(stop_group{event.epoch, 0});
}

void membership::on(const group_succeeded& event, time_point now,
                    effects& out) {
  // They ended by themselves while our order to stop was on its way.
  if (holds(event.epoch) && share_ == share_state::stopping)
    return on(group_stopped{event.epoch, 0}, now, out);
  if (!holds(event.epoch)
      || (share_ != share_state::starting && share_ != share_state::running))
    return;
  share_ = share_state::succeeded;
  if (connected())
    out.emplace_back(send_succeeded{event.epoch});
}

void membership::on(const group_stopped& event, time_point now, effects& out) {
  if (!holds(event.epoch))
    return;
  if (event.master_port != 0)
    offer_.master_port = event.master_port;
  gone_ = true;
  if (now >= fence_due_)
    forget_next();
  if (share_ != share_state::failed)
    share_ = share_state::idle; // A failure stays until it has been answered.
  if (connected())
    out.emplace_back(send_stopped{event.epoch, offer_.master_port});
  // A newer epoch that was revoked before it could begin here.
  if (connected() && !next_ && newest_ > event.epoch)
    out.emplace_back(send_stopped{newest_, offer_.master_port});
  if (ending_)
    part(now, out);
  else if (next_)
    begin(*std::exchange(next_, std::nullopt), out);
}

// -- groups and the end -------------------------------------------------------

void membership::begin(const epoch_plan& plan, effects& out) {
  plan_ = plan;
  share_ = share_state::starting;
  failure_.reset();
  gone_ = false;
  out.emplace_back(set_fence{fence_due_});
  out.emplace_back(start_group{plan});
}

// It was ours once; whether it still is, only a new announcement can tell.
void membership::forget_next() {
  if (next_)
    newest_ = plan_ ? plan_->epoch : epoch_id{};
  next_.reset();
}

bool membership::may_run() const {
  switch (share_) {
    case share_state::idle:
    case share_state::succeeded:
      return false;
    case share_state::failed:
      return !gone_;
    case share_state::starting:
    case share_state::running:
    case share_state::stopping:
      return true;
  }
  return true;
}

void membership::stop(int signal, effects& out) {
  if (share_ == share_state::stopping)
    return;
  share_ = share_state::stopping;
  out.emplace_back(stop_group{plan_->epoch, signal});
}

void membership::on(const leave_requested& event, time_point now,
                    effects& out) {
  if (ending_) { // Told twice: no more patience.
    if (may_run())
      out.emplace_back(kill_group{plan_->epoch});
    return;
  }
  if (link_ == link::joined)
    out.emplace_back(send_leaving{event.signal});
  end({.result = {}, .why = {}, .signal = event.signal}, event.signal, now,
      out);
}

void membership::end(ending how, int signal, time_point now, effects& out) {
  ending_ = std::move(how);
  next_.reset();
  if (may_run())
    stop(signal, out);
  else
    part(now, out);
}

// The coordinator answers our leaving by cutting the link; without that sign
// the last words might be lost with the process.
void membership::part(time_point now, effects& out) {
  if (link_ == link::joined && keep_alive_interval_ > duration::zero()) {
    out.emplace_back(send_left{});
    link_ = link::parting;
    disarm(keep_alive_alarm);
    arm(parting_alarm, now + limits_.fence(), out);
    return;
  }
  if (link_ == link::joined)
    out.emplace_back(send_left{});
  link_ = link::finished;
  out.emplace_back(finish{*ending_});
}

std::optional<claim> membership::held(time_point now) const {
  if (!plan_)
    return std::nullopt;
  // Past the fence the machine has killed them, whether we know it or not.
  const auto fenced
    = now >= fence_due_
      && (share_ == share_state::starting || share_ == share_state::running);
  return claim{*plan_, fenced ? share_state::stopping : share_, failure_};
}

} // namespace actorrun::core
