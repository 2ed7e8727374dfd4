// How the agent finds the coordinator, keeps its lease, and fences itself.

#include "actors/core/protocol/membership.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

namespace {

using std::chrono::milliseconds;

constexpr auto retry_delay_min = milliseconds{20};
/// While workers run, so that a new coordinator learns of them at once …
constexpr auto retry_delay_max_running = milliseconds{200};
/// … and while nobody waits for us.
constexpr auto retry_delay_max_idle = milliseconds{1'000};

bool is_final(errc code) {
  return code == errc::protocol_mismatch || code == errc::job_mismatch
         || code == errc::secret_mismatch || code == errc::settings_mismatch
         || code == errc::etcd_denied;
}

} // namespace

// -- looking for the coordinator ----------------------------------------------

void membership::on(const agent_started&, time_point now, effects& out) {
  arm(seek_alarm, now + limits_.seek, out);
  out.emplace_back(seek_coordinator{});
}

void membership::on(const coordinator_found&, time_point now, effects& out) {
  if (link_ != link::seeking)
    return;
  if (ending_ && !may_run())
    return part(now, out);
  link_ = link::joining;
  join_sent_ = now;
  disarm(retry_alarm);
  arm(timeout_alarm, now + limits_.connect, out);
  out.emplace_back(send_join{offer_, held(now)});
}

void membership::on(const coordinator_not_found& event, time_point now,
                    effects& out) {
  if (link_ != link::seeking)
    return;
  last_failure_ = event.why;
  if (!was_in_ && is_final(event.why.code))
    return give_up(now, out);
  // Its host says that there is no coordinator; so at that moment nobody could
  // have given our place away, and who starts now must listen for a lease.
  if (was_in_ && event.why.code == errc::connection_refused)
    extend_fence(event.tried + fence_, now, out);
  arm(retry_alarm, now + retry_delay(), out);
}

void membership::on(const coordinator_disconnected&, time_point now,
                    effects& out) {
  if (link_ == link::parting) {
    link_ = link::finished;
    out.emplace_back(finish{*ending_});
  } else if (link_ == link::joined || link_ == link::joining) {
    seek(now, out);
  }
}

void membership::seek(time_point now, effects& out) {
  if (link_ == link::joined)
    arm(seek_alarm, now + limits_.seek, out);
  link_ = link::seeking;
  if (!may_run())
    forget_next();
  disarm(keep_alive_alarm);
  disarm(timeout_alarm);
  arm(retry_alarm, now + retry_delay(), out);
}

duration membership::retry_delay() {
  const auto most = may_run() ? retry_delay_max_running : retry_delay_max_idle;
  const auto delay = std::min<duration>(
    most, retry_delay_min * (1u << std::min(attempts_, 10u)));
  ++attempts_;
  // Agents that lost the same coordinator must not come back in one instant.
  const auto spread = std::hash<std::string>{}(offer_.agent.value) % 256;
  return delay - delay * int64_t(spread) / 1024;
}

void membership::give_up(time_point now, effects& out) {
  if (ending_)
    return;
  auto why = last_failure_.value_or(
    failure{errc::connection_timed_out, "nobody answered"});
  if (was_in_)
    why = {errc::coordinator_lost,
           "the coordinator is gone and did not come back within "
             + std::to_string(limits_.seek.count() / 1000) + " s (" + why.text
             + ")"};
  end({.result = {}, .why = std::move(why), .signal = 0}, 0, now, out);
}

// -- the lease ----------------------------------------------------------------

void membership::on(const join_accepted& event, time_point now, effects& out) {
  if (link_ != link::joining)
    return;
  link_ = link::joined;
  was_in_ = true;
  heard_ = now;
  attempts_ = 0;
  keep_alive_interval_ = event.keep_alive_interval;
  fence_ = event.fence;
  disarm(timeout_alarm);
  disarm(seek_alarm);
  // Epochs that we have seen and not begun died with the old coordinator; the
  // new one may not know their numbers.
  if (!next_)
    newest_ = plan_ ? plan_->epoch : epoch_id{};
  if (keep_alive_interval_ > duration::zero()) {
    if (now < fence_due_ || !may_run()) // Else we have slept over it.
      fence_due_ = join_sent_ + fence_;
    arm(keep_alive_alarm, now + keep_alive_interval_, out);
    arm(fence_alarm, fence_due_, out);
    if (may_run())
      out.emplace_back(set_fence{fence_due_});
    if (now > join_sent_ + keep_alive_interval_)
      out.emplace_back(send_keep_alive{now}); // It was slow; look sharp.
  }
  if (ending_)
    out.emplace_back(send_leaving{ending_->signal});
}

void membership::on(const join_rejected& event, time_point now, effects& out) {
  if (link_ != link::joining)
    return;
  if (!ending_)
    ending_ = ending{.result = {}, .why = event.why, .signal = 0};
  disarm(timeout_alarm);
  out.emplace_back(drop_link{});
  link_ = link::seeking;
  if (may_run())
    stop(0, out);
  else
    part(now, out);
}

void membership::on(const lease_granted& event, time_point now, effects& out) {
  if (link_ != link::joined)
    return;
  heard_ = now;
  extend_fence(event.sent + fence_, now, out);
  if (next_ && !may_run() && now < fence_due_)
    begin(*std::exchange(next_, std::nullopt), out);
}

// News that we have slept over comes too late: the machine has killed them.
void membership::extend_fence(time_point due, time_point now, effects& out) {
  if (fence_due_ == time_point::max() || due <= fence_due_
      || (now >= fence_due_ && may_run()))
    return;
  fence_due_ = due;
  if (may_run())
    out.emplace_back(set_fence{due});
}

// Out of touch for too long: somebody may be about to take our place.
void membership::on_fence(time_point now, effects& out) {
  if (now < fence_due_) {
    arm(fence_alarm, fence_due_, out);
    return;
  }
  // A busy coordinator may take longer to let us in than our fence lasts.
  if (!may_run() && link_ == link::joined && now < heard_ + fence_) {
    arm(fence_alarm, heard_ + fence_, out);
    return;
  }
  forget_next();
  if (may_run()) {
    if (share_ != share_state::failed)
      share_ = share_state::stopping;
    out.emplace_back(kill_group{plan_->epoch});
  }
  if (link_ == link::joined || link_ == link::joining) {
    out.emplace_back(drop_link{});
    seek(now, out);
  }
}

// -- timers -------------------------------------------------------------------

void membership::on(const timer_fired& event, time_point now, effects& out) {
  const auto i = std::find(alarms_.begin(), alarms_.end(), event.timer);
  if (event.timer.value == 0 || i == alarms_.end())
    return;
  const auto which = alarm(i - alarms_.begin());
  disarm(which);
  switch (which) {
    case retry_alarm:
      out.emplace_back(seek_coordinator{});
      return;
    case seek_alarm:
      return give_up(now, out);
    case timeout_alarm:
      last_failure_ = failure{errc::connection_timed_out,
                              "the coordinator does not answer"};
      out.emplace_back(drop_link{});
      return seek(now, out);
    case keep_alive_alarm:
      arm(keep_alive_alarm, now + keep_alive_interval_, out);
      out.emplace_back(send_keep_alive{now});
      return;
    case fence_alarm:
      return on_fence(now, out);
    case parting_alarm:
    case alarm_count:
      link_ = link::finished;
      out.emplace_back(finish{*ending_});
      return;
  }
}

void membership::arm(alarm which, time_point due, effects& out) {
  ++last_timer_.value;
  alarms_[which] = last_timer_;
  out.emplace_back(arm_timer{alarms_[which], due});
}

} // namespace actorrun::core
