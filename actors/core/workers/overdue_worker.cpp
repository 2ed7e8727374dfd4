#include "actors/core/workers/overdue_worker.hpp"

#include <algorithm>
#include <cassert>
#include <csignal>

namespace actorrun::core {

overdue_worker::overdue_worker(worker_overran overrun,
                               std::chrono::milliseconds kill_timeout)
  : overrun_(std::move(overrun)), kill_timeout_(kill_timeout),
    where_(overrun_.where) {}

overdue_worker::order overdue_worker::end(time_point now) {
  assert(!is_killed_);
  const auto is_last = is_signalled() || overrun_.grace.count() == 0;
  const auto signal = is_last ? SIGKILL : overrun_.signal;
  signalled_at_ = signalled_at_.value_or(now);
  if (signal != SIGKILL) {
    is_asked_ = true;
    return {signal, overrun_.grace};
  }
  is_killed_ = true;
  return {signal, kill_timeout_};
}

bool overdue_worker::has_caused(const worker_exited& event) const {
  if (!is_signalled() || event.was_ending)
    return false;
  const auto died_before
    = event.when != time_point{} && event.when < *signalled_at_;
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

void overdue_workers::add(const worker_overran& event, group_orders& orders) {
  const auto [i, is_first]
    = workers_.try_emplace(event.local_rank, event, kill_timeout_);
  if (!is_first)
    return;
  auto& x = i->second;
  if (x.probe_timeout().count() == 0)
    return end(event.local_rank, x, orders);
  x.timer = orders.arm_further(x.probe_timeout());
  orders.add(probe_workers{event.local_rank});
}

void overdue_workers::set_where(const worker_probed& event,
                                group_orders& orders) {
  const auto i = workers_.find(event.local_rank);
  if (i == workers_.end() || i->second.is_signalled())
    return;
  i->second.set_where(event.where);
  end(event.local_rank, i->second, orders);
}

std::vector<uint32_t> overdue_workers::on(const timer_fired& event,
                                          group_orders& orders) {
  if (!has_timer(event.timer))
    return {};
  const auto i = std::ranges::find_if(
    workers_, [&](const auto& x) { return x.second.timer == event.timer; });
  if (!i->second.is_killed()) {
    end(i->first, i->second, orders);
    return {};
  }
  i->second.timer = {};
  return {i->first};
}

bool overdue_workers::has_timer(timer_id x) const {
  return x.value != 0 && std::ranges::any_of(workers_, [x](const auto& y) {
           return y.second.timer == x;
         });
}

std::optional<overdue_worker> overdue_workers::take(uint32_t local_rank) {
  const auto node = workers_.extract(local_rank);
  return node ? std::optional{node.mapped()} : std::nullopt;
}

void overdue_workers::explain(worker_failure& out) const {
  if (const auto i = workers_.find(out.local_rank); i != workers_.end())
    i->second.explain(out.details);
}

void overdue_workers::end(uint32_t local_rank, overdue_worker& x,
                          group_orders& orders) {
  const auto order = x.end(orders.now());
  orders.add(signal_worker{local_rank, order.signal});
  x.timer = {};
  if (order.timeout.count() > 0)
    x.timer = orders.arm_further(order.timeout);
}

} // namespace actorrun::core
