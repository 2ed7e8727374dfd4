#include "actors/core/workers/group_stop.hpp"

#include <csignal>
#include <utility>

namespace actorrun::core {

namespace {

using alarm = group_orders::alarm;
using stage = worker_record::state;

} // namespace

void group_stop::begin(const stop_ordered& order, bool has_begun,
                       worker_table& workers, group_orders& orders) {
  ordered_at_ = orders.now();
  signal_ = order.signal;
  may_park_ = order.may_park;
  if (!has_begun && !may_park_)
    stop_parked(order, workers, orders);
  if (!has_begun)
    return;
  if (!may_park_)
    end_parking(workers, orders);
  if (order.grace.count() == 0)
    return kill(workers, orders);
  orders.add(signal_workers{order.signal, spared(workers)});
  if (auto asked = workers.live_workers(); may_park_ && !asked.empty())
    orders.add(ask_to_park{std::move(asked), order.grace});
  orders.arm(alarm::grace, order.grace);
}

bool group_stop::stop_parked(const stop_ordered& order, worker_table& workers,
                             group_orders& orders) {
  const auto has_grace = orders.is_armed(alarm::grace);
  const auto stopped = workers.select([&](auto, const auto& x) {
    return x.now == stage::parked
           || (x.now == stage::running && x.is_live && has_grace);
  });
  end_parking(workers, orders);
  if (order.grace.count() == 0 && !stopped.empty()) {
    kill(workers, orders);
  } else if (!stopped.empty()) {
    for (const auto i : stopped)
      orders.add(signal_worker{i, order.signal});
    orders.arm(alarm::grace, order.grace);
  }
  return !stopped.empty();
}

// What was to end before has its time again, with those that are to end now.
void group_stop::end_parking(worker_table& workers, group_orders& orders) {
  may_park_ = false;
  if (workers.move(workers.all_in(stage::parked), stage::running).empty())
    return;
  orders.disarm(alarm::kill);
  orders.disarm(alarm::spare);
}

void group_stop::kill(const worker_table& workers, group_orders& orders) const {
  orders.add(signal_workers{SIGKILL, workers.all_in(stage::parked)});
  if (kill_timeout_.count() > 0 && !orders.is_armed(alarm::kill))
    orders.arm(alarm::kill, kill_timeout_);
}

void group_stop::kill_spares(const worker_table& workers,
                             group_orders& orders) const {
  const auto killed = workers.spares_under_way();
  if (killed.empty() || orders.is_armed(alarm::spare))
    return;
  for (const auto i : killed)
    if (workers.records()[i].now == stage::running)
      orders.add(signal_worker{i, SIGKILL});
  orders.arm(alarm::spare, kill_timeout_.count() > 0 ? duration{kill_timeout_}
                                                     : idle_spares_max);
}

// While the grace period lasts those that may still park are spared as well.
worker_table::numbers group_stop::spared(const worker_table& workers) const {
  return workers.select([&](auto i, const auto& x) {
    return x.now == stage::parked
           || (may_park_ && x.is_live && !workers.is_spare(i));
  });
}

} // namespace actorrun::core
