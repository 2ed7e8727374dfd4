#include "actors/core/workers/step_hold.hpp"

#include <algorithm>

namespace actorrun::core {

void step_hold::begin(const safe_point_order& order,
                      const std::vector<uint32_t>& told) {
  using kind = safe_point_order::kind;
  // Who waits where it was to stop does not say so again.
  const auto is_repeated = order_ == order;
  for (auto& x : workers_) {
    x.has_held = x.has_held && order.what == kind::stop_at;
    x.has_reached = x.has_reached && is_repeated;
  }
  if (order.what == kind::hold)
    for (const auto i : told)
      ++workers_.at(i).asked_count;
  order_ = order;
  is_due_ = order.what != kind::go_on;
}

void step_hold::held(uint32_t local_rank, uint64_t step) {
  auto& x = workers_.at(local_rank);
  if (x.asked_count == 0 || --x.asked_count > 0)
    return;
  x.has_held = true;
  x.step = step;
}

void step_hold::reached(uint32_t local_rank, uint64_t step) {
  if (order_ && order_->what == safe_point_order::kind::stop_at
      && step >= order_->step)
    workers_.at(local_rank).has_reached = true;
}

std::optional<safe_point_report>
step_hold::answer(const std::vector<uint32_t>& running, bool can_stop) {
  using kind = safe_point_report::kind;
  if (!is_due_)
    return std::nullopt;
  const auto holds = order_->what == safe_point_order::kind::hold;
  auto out = holds
               ? safe_point_report{kind::held, 0, order_->round}
               : safe_point_report{kind::reached, order_->step, order_->round};
  for (const auto i : running) {
    const auto& x = workers_.at(i);
    if (can_stop && !(holds ? x.has_held : x.has_reached))
      return std::nullopt;
    if (holds)
      out.step = std::max(out.step, x.step);
  }
  is_due_ = false;
  if (!can_stop)
    return safe_point_report{kind::refused, 0, order_->round};
  return out;
}

} // namespace actorrun::core
