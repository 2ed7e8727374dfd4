// What the supervisor has to do with timers, and with workers that do not end.

#include "actors/worker_supervisor.hpp"

#include <chrono>
#include <utility>

namespace actorrun {

using namespace core;

namespace {

/// A worker that overran a timer is looked at so long at most; the answer is
/// waited for a little longer than that.
constexpr auto inspection_max = std::chrono::milliseconds{400};
constexpr auto inspection_timeout = std::chrono::milliseconds{500};

} // namespace

// At once, whatever waits: a worker may use a timer as soon as it runs, and one
// that has ended must not be found late.
void worker_supervisor_state::tell_timers(const process_report& report) {
  if (!config_.timers || !group_)
    return;
  const auto epoch = group_->plan().epoch;
  auto begun = std::vector<timed_process>{};
  auto ended = std::vector<uint32_t>{};
  for (const auto& event : report) {
    if (const auto* x = std::get_if<ports::process_started>(&event)) {
      if (x->epoch == epoch)
        begun.push_back({x->local_rank, x->pid});
    } else if (const auto* y = std::get_if<ports::process_exited>(&event)) {
      if (y->epoch == epoch)
        ended.push_back(y->local_rank);
    }
  }
  if (!begun.empty())
    tell(
      self_, config_.timers,
      workers_timed{epoch, std::move(begun), worker_supervisor_actor{self_}});
  if (!ended.empty())
    tell(self_, config_.timers, workers_untimed{epoch, std::move(ended)});
}

void worker_supervisor_state::take(const worker_overrun& x) {
  const auto& what = x.what;
  if (!group_ || group_->plan().epoch != what.who.epoch
      || what.who.local_rank >= group_->workers().size())
    return;
  auto event = worker_overran{.local_rank = what.who.local_rank,
                              .scope = what.scope,
                              .lateness = what.lateness,
                              .signal = what.signal,
                              .grace = config_.workers.grace_period};
  if (config_.probe)
    event.timeout = inspection_timeout;
  dispatch(event);
}

void worker_supervisor_state::inspect_workers(uint32_t overdue) {
  const auto& plan = group_->plan();
  auto workers = std::vector<ports::probed_worker>{};
  for (uint32_t i = 0; i < plan.own.slot_count; ++i)
    if (const auto& x = group_->workers()[i];
        x.now == worker_record::state::running)
      workers.push_back({.local_rank = i,
                         .global_rank = plan.own.first_global_rank + i,
                         .pid = x.pid,
                         .error_file = outputs_.workers.at(i).error_file});
  config_.probe->look(std::move(workers), overdue, inspection_max,
                      [=, handle = worker_supervisor_actor{self_},
                       epoch = plan.epoch](std::string where) {
                        tell_anonymously(
                          handle,
                          overrun_probed{epoch, overdue, std::move(where)});
                      });
}

// Of a worker that cannot be killed nobody knows more than what it waits for.
worker_failure worker_supervisor_state::explained(worker_failure x) const {
  if (x.kind != failure_kind::unkillable) {
    config_.lines.debug("worker supervisor reports " + to_string(x));
    return x;
  }
  const auto where = config_.probe ? config_.probe->summarize(x.pid) : "";
  if (!where.empty())
    x.details.where = where;
  config_.lines.error("worker supervisor gives up a worker: " + to_string(x)
                      + (where.empty() ? "" : ": " + where));
  return x;
}

} // namespace actorrun
