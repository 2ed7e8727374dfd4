#include "actors/core/protocol/membership.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace actorrun::core {

namespace {

duration since(time_point told, time_point now) {
  return told == time_point{} ? duration::zero() : now - told;
}

} // namespace

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

void membership::on(const epoch_revoked& event, time_point now, effects& out) {
  newest_ = std::max(newest_, event.epoch);
  if (next_ && next_->epoch <= event.epoch)
    next_.reset();
  if (!may_run() || plan_->epoch > event.epoch) {
    if (holds(event.epoch)) {
      share_ = share_state::idle;
      tell_stopped(0, now, out);
    } else {
      out.emplace_back(send_stopped{event.epoch, 0});
    }
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
  if (!holds(event.epoch))
    return;
  // It died before our order to stop had reached its group.
  if (share_ == share_state::stopping)
    return note({{event.failure}, 0}, event.told, now);
  if (share_ != share_state::starting && share_ != share_state::running)
    return;
  auto failure = aged(event.failure, since(event.told, now));
  if (was_fenced(failure, now))
    return on_fence(now, out);
  share_ = share_state::failed;
  failure_ = failure;
  told_ = now;
  gone_ = false;
  if (connected())
    out.emplace_back(send_failed{event.epoch, std::move(failure)});
  out.emplace_back(stop_group{event.epoch, 0});
}

void membership::on(const group_succeeded& event, time_point now,
                    effects& out) {
  // They ended by themselves while our order to stop was on its way.
  if (holds(event.epoch) && share_ == share_state::stopping)
    return on(group_stopped{event.epoch}, now, out);
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
  note(event.others, event.told, now);
  if (event.unkillable_count > 0)
    give_up_workers(event.unkillable_count);
  if (now >= fence_due_)
    forget_next();
  if (share_ != share_state::failed)
    share_ = share_state::idle; // A failure stays until it has been answered.
  if (connected())
    tell_stopped(offer_.master_port, now, out);
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
  others_ = {};
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

// Their memory, devices and ports are not to be had again on this node: nothing
// more can be started here, and a person must hear of it.
void membership::give_up_workers(uint32_t count) {
  unkillable_count_ = count;
  if (!ending_)
    ending_.emplace();
  next_.reset();
  const auto one = count == 1;
  ending_->why = failure{errc::worker_unkillable,
                         std::to_string(count) + (one ? " worker" : " workers")
                           + " of epoch " + to_string(plan_->epoch) + " on "
                           + offer_.host + " did not end after SIGKILL and "
                           + (one ? "hangs" : "hang") + " in the kernel"};
}

// Nothing that is heard later makes them end.
void membership::end(ending how, int signal, time_point now, effects& out) {
  if (unkillable_count_ > 0)
    how.why = ending_->why;
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
  auto out = claim{*plan_, fenced ? share_state::stopping : share_, {}};
  if (failure_)
    out.failure = aged(*failure_, now - told_);
  return out;
}

// -- failures -----------------------------------------------------------------

// Past the fence the machine kills them even if we slept: an ordered death.
bool membership::was_fenced(const worker_failure& x, time_point now) const {
  const auto by_kill = (x.kind == failure_kind::signalled
                        || x.kind == failure_kind::timer_expired)
                       && x.code == SIGKILL;
  const auto not_begun
    = x.kind == failure_kind::not_started && x.code == ECANCELED;
  return (by_kill || not_begun) && now - x.age >= fence_due_;
}

void membership::note(collateral failures, time_point told, time_point now) {
  if (failures.empty())
    return;
  failures = aged(std::move(failures), since(told, now));
  std::erase_if(failures.listed,
                [&](const auto& x) { return was_fenced(x, now); });
  const auto later = now - told_;
  told_ = now;
  if (failure_)
    failure_->age += later;
  others_ = aged(std::move(others_), later);
  others_.add(std::move(failures));
}

// Said again after a link broke, and older by then.
void membership::tell_stopped(uint16_t master_port, time_point now,
                              effects& out) const {
  out.emplace_back(send_stopped{plan_->epoch, master_port,
                                aged(others_, now - told_), unkillable_count_});
}

} // namespace actorrun::core
