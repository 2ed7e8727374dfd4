#include "actors/core/protocol/departure.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace actorrun::core {

namespace {

/// From one notice to the coordinator to the next.
constexpr auto notice_pause = std::chrono::seconds{2};

} // namespace

std::optional<duration> departure::time_left() const {
  const auto due = step_.due(membership_step::alarm::drain);
  return due && !ending_
           ? std::optional{std::max(*due - step_.now(), duration::zero())}
           : std::nullopt;
}

bool departure::was_noticed(const worker_failure& x) const {
  return noticed_at_ && x.kind != failure_kind::unkillable
         && step_.now() - x.age >= *noticed_at_;
}

void departure::on(const job_ended& event) {
  if (ending_ && ending_->result)
    return;
  auto how = ending{.result = event.result, .why = {}, .signal = 0};
  // Success of others: no program of this node has come to its end.
  if (event.result.kind == outcome::verdict::succeeded && !ending_
      && share_.state() != share_state::succeeded)
    how.why = failure{errc::job_over,
                      share_.plan()
                        ? "the job has succeeded, and this node stood by when "
                          "it did: its own workers had no part in that"
                        : "the job has succeeded, and this node stood by: "
                          "nothing was run here"};
  end(std::move(how), 0);
}

void departure::on(const leave_requested& event) {
  if (std::exchange(is_asked_to_leave_, true)) { // No grace period.
    if (share_.has_workers())
      step_.add(
        kill_group{.generation = share_.generation(), .with_parked = true});
    return;
  }
  if (ending_) // The workers have been told, for another reason.
    return;
  if (link_.is(coordinator_link::state::joined))
    step_.add(send_leaving{event.signal});
  end({.result = {}, .why = {}, .signal = event.signal}, event.signal);
}

void departure::on(const drain_ordered& event) {
  if (ending_)
    return;
  step_.disarm(membership_step::alarm::notice);
  if (event.stays)
    return workers_.on(limit_near{event.time});
  if (drain_ == drain::none) {
    drain_ = drain::at_safe_point;
    if (!share_.may_run())
      return leave_drained();
    step_.arm(membership_step::alarm::drain, step_.now() + event.time);
  }
  if (!event.at_safe_point && drain_ != drain::with_notice) {
    drain_ = drain::with_notice;
    give_due_notice();
  }
}

void departure::on(const notice_received& event) {
  if (ending_ || notice_)
    return;
  notice_ = event.words;
  tell_notice();
}

void departure::tell_notice() {
  if (!notice_ || has_begun() || !link_.is(coordinator_link::state::joined))
    return;
  step_.add(send_notice{*notice_});
  step_.arm(membership_step::alarm::notice, step_.now() + notice_pause);
}

void departure::give_due_notice() {
  if (drain_ != drain::with_notice || share_.state() != share_state::running)
    return;
  noticed_at_ = step_.now();
  step_.add(notify_workers{share_.generation()});
}

void departure::fail(failure why) {
  if (!ending_)
    end({.result = {}, .why = std::move(why), .signal = 0}, 0);
}

bool departure::say_drained() {
  if (drain_ == drain::none || ending_)
    return false;
  if (link_.is(coordinator_link::state::joined))
    step_.add(send_leaving{0});
  ending_.emplace();
  ending_->notice = notice_;
  return true;
}

void departure::leave_drained() {
  if (!say_drained())
    return;
  workers_.drop_next();
  advance(0);
}

void departure::give_up_workers(const std::string& host) {
  const auto count = workers_.unkillable_count();
  const auto one = count == 1;
  if (!ending_)
    ending_.emplace();
  workers_.drop_next();
  ending_->why = failure{errc::worker_unkillable,
                         std::to_string(count) + (one ? " worker" : " workers")
                           + " of generation " + to_string(share_.generation())
                           + " on " + host + " did not end after SIGKILL and "
                           + (one ? "hangs" : "hang") + " in the kernel"};
}

// Unkillable workers stay a reason, whatever ends the agent.
void departure::end(ending how, int signal) {
  if (workers_.unkillable_count() > 0)
    how.why = ending_->why;
  ending_ = std::move(how);
  workers_.drop_next();
  advance(signal);
}

void departure::advance(int signal) {
  if (share_.has_workers())
    workers_.stop(signal);
  else if (link_.part(lease_.has_keep_alives()))
    finish();
}

void departure::finish() {
  link_.finish();
  step_.add(core::finish{*ending_});
}

} // namespace actorrun::core
