// Workers that overran a timer, and workers that outlive SIGKILL.

#include "actors/core/workers/worker_group.hpp"

#include <csignal>
#include <utility>

namespace actorrun::core {

// -- overruns -----------------------------------------------------------------

void worker_group::on(const worker_overran& event, time_point now,
                      effects& out) {
  const auto* worker
    = in_state(event.local_rank, worker_record::state::running);
  if (worker == nullptr || phase_ >= phase::stopping)
    return;
  const auto [i, is_first] = overdue_.try_emplace(event.local_rank);
  if (!is_first)
    return;
  auto& x = i->second;
  x.what = event;
  if (event.timeout.count() == 0)
    return end_overdue(x, now, out);
  x.timer = arm(now + event.timeout, out);
  out.emplace_back(probe_workers{event.local_rank});
}

// What is seen after the signal may be seen because of it.
void worker_group::on(const worker_probed& event, time_point now,
                      effects& out) {
  const auto i = overdue_.find(event.local_rank);
  if (i == overdue_.end() || i->second.is_signalled
      || phase_ >= phase::stopping)
    return;
  i->second.where = event.where;
  end_overdue(i->second, now, out);
}

/// First what was asked for, then what cannot be refused.
void worker_group::end_overdue(overdue& x, time_point now, effects& out) {
  const auto is_last = x.is_signalled || x.what.grace.count() == 0;
  const auto signal = is_last ? SIGKILL : x.what.signal;
  out.emplace_back(signal_worker{x.what.local_rank, signal});
  if (!x.is_signalled)
    x.signalled_at = now;
  x.is_signalled = true;
  x.timer = {};
  if (signal != SIGKILL) {
    x.is_asked = true;
    x.timer = arm(now + x.what.grace, out);
  } else {
    x.is_killed = true;
    if (kill_timeout_.count() > 0)
      x.timer = arm(now + kill_timeout_, out);
  }
}

/// The patience with it is over: with the look, the signal or SIGKILL.
void worker_group::advance_overdue(overdue& x, time_point now, effects& out) {
  x.timer = {};
  if (!x.is_killed)
    return end_overdue(x, now, out);
  give_up(x.what.local_rank, now, out);
  settle(now, out);
}

/// @returns the timer that the worker was ended for; null: it ended otherwise.
///
/// What died before our signal did not die of it. SIGKILL has one effect; after
/// a signal that can be handled, whatever becomes of the worker may be what the
/// signal has led to, be it an exit with 0 or a crash.
const worker_group::overdue*
worker_group::find_ended_overdue(const worker_exited& event) const {
  const auto i = overdue_.find(event.local_rank);
  if (i == overdue_.end() || !i->second.is_signalled)
    return nullptr;
  const auto& x = i->second;
  const auto died_before
    = event.when != time_point{} && event.when < x.signalled_at;
  const auto can_be_ours = x.is_asked || event.signal == SIGKILL;
  return died_before || !can_be_ours ? nullptr : &x;
}

// Signalled for its own sake, so that a later order to stop changes nothing.
void worker_group::fail_overdue(const overdue& how, const worker_exited& event,
                                time_point now, effects& out) {
  auto failure
    = worker_failure{.local_rank = event.local_rank,
                     .kind = failure_kind::timer_expired,
                     .code = event.signal != 0 ? event.signal : how.what.signal,
                     .dumped = event.dumped,
                     .details = event.details};
  failure.details.scope = how.what.scope;
  failure.details.lateness = how.what.lateness;
  failure.details.where = how.where;
  tell(std::move(failure), event.when, now, out);
}

// -- SIGKILL ------------------------------------------------------------------

// Who is killed twice has no more time.
void worker_group::kill_all(time_point now, effects& out) {
  out.emplace_back(signal_workers{SIGKILL});
  if (kill_timeout_.count() > 0 && kill_timer_.value == 0)
    kill_timer_ = arm(now + kill_timeout_, out);
}

void worker_group::give_up_all(time_point now, effects& out) {
  for (uint32_t i = 0; i < workers_.size(); ++i)
    if (workers_[i].now == worker_record::state::running)
      give_up(i, now, out);
  settle(now, out);
}

// Though we ordered its death: that there was none is news, and bad news.
void worker_group::give_up(uint32_t local_rank, time_point now, effects& out) {
  auto failure = worker_failure{.local_rank = local_rank,
                                .kind = failure_kind::unkillable,
                                .code = SIGKILL};
  if (const auto i = overdue_.find(local_rank); i != overdue_.end()) {
    failure.details.scope = i->second.what.scope;
    failure.details.lateness = i->second.what.lateness;
    failure.details.where = i->second.where;
  }
  workers_[local_rank].now = worker_record::state::given_up;
  ++ended_count_;
  ++given_up_count_;
  tell(std::move(failure), {}, now, out);
}

} // namespace actorrun::core
