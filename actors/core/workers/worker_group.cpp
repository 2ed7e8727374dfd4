#include "actors/core/workers/worker_group.hpp"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <csignal>
#include <utility>

namespace actorrun::core {

worker_group::worker_group(epoch_plan plan, std::string host,
                           std::chrono::milliseconds kill_timeout)
  : plan_(std::move(plan)), host_(std::move(host)), kill_timeout_(kill_timeout),
    workers_(plan_.own.slot_count), waiting_count_(plan_.own.slot_count) {
  assert(!workers_.empty());
}

std::vector<worker_group_effect>
worker_group::step(const worker_group_event& event, time_point now) {
  auto out = effects{};
  std::visit([&](const auto& x) { on(x, now, out); }, event);
  return out;
}

void worker_group::on(const start_ordered&, time_point, effects& out) {
  if (phase_ != phase::idle)
    return;
  phase_ = phase::starting;
  out.emplace_back(start_workers{});
}

void worker_group::on(const worker_started& event, time_point now,
                      effects& out) {
  auto* worker = in_state(event.local_rank, worker_record::state::waiting);
  if (worker == nullptr)
    return;
  worker->now = worker_record::state::running;
  worker->pid = event.pid;
  --waiting_count_;
  settle(now, out);
}

void worker_group::on(const worker_not_started& event, time_point now,
                      effects& out) {
  auto* worker = in_state(event.local_rank, worker_record::state::waiting);
  if (worker == nullptr)
    return;
  worker->now = worker_record::state::ended;
  --waiting_count_;
  ++ended_count_;
  fail({.local_rank = event.local_rank,
        .kind = failure_kind::not_started,
        .code = event.error,
        .details = event.details},
       event.when, now, out);
  settle(now, out);
}

void worker_group::on(const worker_exited& event, time_point now,
                      effects& out) {
  auto* worker = in_state(event.local_rank, worker_record::state::running);
  if (worker == nullptr)
    return;
  worker->now = worker_record::state::ended;
  ++ended_count_;
  if (const auto* how = find_ended_overdue(event))
    fail_overdue(*how, event, now, out);
  else if (event.signal != 0)
    fail({.local_rank = event.local_rank,
          .kind = failure_kind::signalled,
          .code = event.signal,
          .dumped = event.dumped,
          .details = event.details},
         event.when, now, out);
  else if (event.exit_code != 0)
    fail({.local_rank = event.local_rank,
          .kind = failure_kind::exited,
          .code = event.exit_code,
          .details = event.details},
         event.when, now, out);
  overdue_.erase(event.local_rank);
  settle(now, out);
}

void worker_group::on(const stop_ordered& event, time_point now, effects& out) {
  if (phase_ == phase::idle || phase_ == phase::stopping
      || phase_ == phase::stopped || phase_ == phase::succeeded)
    return;
  phase_ = phase::stopping;
  stop_ordered_at_ = now;
  if (event.grace.count() == 0) {
    kill_all(now, out);
  } else {
    out.emplace_back(signal_workers{event.signal});
    grace_timer_ = arm(now + event.grace, out);
  }
  settle(now, out);
}

void worker_group::on(const kill_ordered&, time_point now, effects& out) {
  if (phase_ == phase::stopping) {
    grace_timer_ = {};
    kill_all(now, out);
  } else {
    on(stop_ordered{SIGKILL, {}}, now, out);
  }
}

// Once all must end nobody is ended alone.
void worker_group::on(const timer_fired& event, time_point now, effects& out) {
  if (event.timer.value == 0)
    return;
  if (phase_ == phase::stopping && event.timer == grace_timer_) {
    grace_timer_ = {};
    return kill_all(now, out);
  }
  if (phase_ == phase::stopping && event.timer == kill_timer_)
    return give_up_all(now, out);
  for (auto& [local_rank, x] : overdue_)
    if (phase_ < phase::stopping && x.timer == event.timer)
      return advance_overdue(x, now, out);
}

timer_id worker_group::arm(time_point due, effects& out) {
  ++last_timer_.value;
  out.emplace_back(arm_timer{last_timer_, due});
  return last_timer_;
}

worker_record* worker_group::in_state(uint32_t local_rank,
                                      worker_record::state state) {
  assert(local_rank < workers_.size());
  auto& worker = workers_[local_rank];
  return phase_ != phase::idle && worker.now == state ? &worker : nullptr;
}

// The first failure is what the agent must hear of at once. What fails after it
// by itself may be its consequence, and what ends after our order is our doing.
void worker_group::fail(worker_failure failure, time_point when, time_point now,
                        effects& out) {
  if (!has_ordered(when))
    tell(std::move(failure), when, now, out);
}

void worker_group::tell(worker_failure failure, time_point when, time_point now,
                        effects& out) {
  failure.agent = plan_.own.agent;
  failure.host = host_;
  failure.global_rank = plan_.own.first_global_rank + failure.local_rank;
  failure.pid = workers_[failure.local_rank].pid;
  failure.age = when == time_point{} ? duration{0} : now - std::min(when, now);
  if (phase_ == phase::starting || phase_ == phase::running) {
    phase_ = phase::failed;
    out.emplace_back(report_failed{std::move(failure)});
  } else if (failure.kind != failure_kind::not_started
             || failure.code != ECANCELED) {
    others_ = aged(std::move(others_), now - others_told_at_);
    others_told_at_ = now;
    others_.add(std::move(failure));
  }
}

void worker_group::settle(time_point now, effects& out) {
  if (phase_ == phase::starting && waiting_count_ == 0) {
    phase_ = phase::running;
    out.emplace_back(report_started{});
  }
  if (ended_count_ < workers_.size())
    return;
  if (phase_ == phase::running) {
    phase_ = phase::succeeded;
    out.emplace_back(release_workers{});
    out.emplace_back(report_succeeded{});
  } else if (phase_ == phase::stopping) {
    phase_ = phase::stopped;
    out.emplace_back(release_workers{});
    out.emplace_back(
      report_stopped{aged(others_, now - others_told_at_), given_up_count_});
  }
}

namespace {

struct effect_writer {
  std::string operator()(const arm_timer& x) const {
    return "arm_timer " + to_string(x.timer);
  }
  std::string operator()(const start_workers&) const { return "start_workers"; }
  std::string operator()(const signal_workers& x) const {
    return "signal_workers " + std::to_string(x.signal);
  }
  std::string operator()(const release_workers&) const {
    return "release_workers";
  }
  std::string operator()(const report_started&) const {
    return "report_started";
  }
  std::string operator()(const report_failed& x) const {
    return "report_failed: " + to_string(x.failure);
  }
  std::string operator()(const report_succeeded&) const {
    return "report_succeeded";
  }
  std::string operator()(const report_stopped& x) const {
    return "report_stopped"
           + (x.others.empty() ? "" : " +" + std::to_string(x.others.count()))
           + (x.unkillable_count == 0
                ? ""
                : " unkillable=" + std::to_string(x.unkillable_count));
  }
  std::string operator()(const probe_workers& x) const {
    return "probe_workers " + std::to_string(x.overdue);
  }
  std::string operator()(const signal_worker& x) const {
    return "signal_worker " + std::to_string(x.local_rank) + " "
           + std::to_string(x.signal);
  }
};

} // namespace

std::string to_string(const worker_group_effect& x) {
  return std::visit(effect_writer{}, x);
}

} // namespace actorrun::core
