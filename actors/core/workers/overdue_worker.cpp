#include "actors/core/workers/overdue_worker.hpp"

#include <cassert>
#include <csignal>

namespace actorrun::core {

overdue_worker::overdue_worker(worker_overran overrun,
                               std::chrono::milliseconds kill_timeout)
  : overrun_(std::move(overrun)), kill_timeout_(kill_timeout) {}

overdue_worker::order overdue_worker::end(time_point now) {
  assert(!is_killed_);
  const auto is_last = is_signalled_ || overrun_.grace.count() == 0;
  const auto signal = is_last ? SIGKILL : overrun_.signal;
  if (!is_signalled_)
    signalled_at_ = now;
  is_signalled_ = true;
  if (signal != SIGKILL) {
    is_asked_ = true;
    return {signal, overrun_.grace};
  }
  is_killed_ = true;
  return {signal, kill_timeout_};
}

bool overdue_worker::has_caused(const worker_exited& event) const {
  if (!is_signalled_ || event.was_ending)
    return false;
  const auto died_before
    = event.when != time_point{} && event.when < signalled_at_;
  const auto can_be_ours = is_asked_ || event.signal == SIGKILL;
  return !died_before && can_be_ours;
}

worker_failure overdue_worker::failure_of(const worker_exited& event) const {
  auto failure
    = worker_failure{.local_rank = event.local_rank,
                     .kind = failure_kind::timer_expired,
                     .code = event.signal != 0 ? event.signal : overrun_.signal,
                     .dumped = event.dumped,
                     .details = event.details};
  explain(failure.details);
  return failure;
}

void overdue_worker::explain(death_details& out) const {
  out.scope = overrun_.scope;
  out.lateness = overrun_.lateness;
  out.limit = overrun_.limit;
  out.where = where_;
}

} // namespace actorrun::core
