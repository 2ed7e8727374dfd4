#include "actors/core/protocol/agent_lease.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <utility>

namespace actorrun::core {

void agent_lease::begin(duration interval, duration fence, duration age,
                        bool may_run, time_point now) {
  answered_at_ = now;
  interval_ = interval;
  fence_ = fence;
  if (!has_keep_alives())
    return;
  if (!is_over(now) || !may_run)
    due_ = join_sent_ + fence_of(age);
  asked_.reset();
  unanswered_.reset();
  is_overdue_ = false;
  next_due_ = now + interval_;
}

bool agent_lease::extend(time_point due, bool may_run, time_point now) {
  if (due <= due_ || (is_over(now) && may_run))
    return false;
  due_ = due;
  return true;
}

std::optional<time_point>
agent_lease::holds_until(std::optional<generation_id> running, bool is_joined,
                         time_point now) const {
  if (!is_over(now))
    return due_;
  const auto counts_until = answered_at_ + fence_;
  const auto is_done = !running || killed_ == *running;
  return is_done && is_joined && now < counts_until
           ? std::optional{counts_until}
           : std::nullopt;
}

bool agent_lease::has_killed(const worker_failure& x, time_point now) const {
  const auto by_kill = (x.kind == failure_kind::signalled
                        || x.kind == failure_kind::timer_expired)
                       && x.code == SIGKILL;
  const auto not_begun
    = x.kind == failure_kind::not_started && x.code == ECANCELED;
  return (by_kill || not_begun) && is_over(now - x.age);
}

bool agent_lease::take_proof(time_point asked) {
  if (asked_ != asked)
    return false;
  unanswered_ = std::exchange(asked_, std::nullopt);
  return true;
}

agent_lease::beat agent_lease::take_beat(time_point now) {
  const auto is_due = now >= next_due_;
  if (is_due) {
    next_due_ = now + interval_;
    is_overdue_ = unanswered_ || asked_;
  }
  const auto again = unanswered_ ? now + repeat_after() : next_due_;
  return {unanswered_, is_due && !unanswered_ && !asked_,
          std::min(again, next_due_)};
}

duration agent_lease::repeat_after() const {
  constexpr auto repetitions_before_fence = 4;
  const auto after = (fence_ - interval_) / (repetitions_before_fence + 1);
  return after > duration::zero() ? std::min(after, interval_) : interval_;
}

bool agent_lease::take_answer(time_point sent, time_point now) {
  answered_at_ = now;
  if (unanswered_ != sent)
    return false;
  unanswered_.reset();
  return true;
}

bool agent_lease::take_overdue() {
  return std::exchange(is_overdue_, false);
}

bool agent_lease::is_silent(time_point now) const {
  return unanswered_ && now >= due_ - fence_ / 2
         && now >= *unanswered_ + 2 * repeat_after();
}

} // namespace actorrun::core
