#include "actors/core/protocol/newcomers.hpp"

#include <algorithm>
#include <chrono>
#include <string>

namespace actorrun::core {

namespace {

/// Newcomers whose workers are started ahead get so long to be ready.
constexpr auto ahead_max = std::chrono::minutes{5};

} // namespace

end_reason newcomers::reason() const {
  const auto count = agents_.counts().newcomers;
  const auto joined
    = count - (admission_.empty() ? 0 : std::min(count, admitted_count_));
  if (admission_.empty() || count == joined)
    return {std::to_string(count) + " more joined"};
  auto out = admission_;
  if (joined > 0)
    out.text += "; " + std::to_string(joined) + " more joined";
  return out;
}

// If a node is draining, it will end this generation in any case, and its workers
// have been promised some time.
bool newcomers::are_due(const group_change& x) {
  const auto count = agents_.counts().newcomers;
  if (count == 0)
    forget_admission();
  if (x.what != group_change::kind::newcomers) {
    end();
    return false;
  }
  since_ = since_.value_or(step_.now());
  const auto is_full = count >= room_in(agents_, orders_);
  const auto settled
    = std::min(std::max(last_arrival_, *since_) + limits_.join_settle,
               *since_ + limits_.last_call);
  const auto due = is_full ? costs_.newcomers_due()
                           : std::max(settled, costs_.newcomers_due());
  // The timer decides, also if it is late: no other event seems to end a generation.
  const auto armed = step_.due(alarm::settle);
  const auto waits = armed && *armed <= due;
  if (step_.is_armed(alarm::ahead) || (!waits && due <= step_.now()))
    return !await_workers();
  if (!waits)
    step_.arm(alarm::settle, due);
  return false;
}

// Only a generation that can stop between two steps gains by it: another one loses
// the step whenever it ends. One that cannot be ready is not waited for twice.
bool newcomers::await_workers() {
  if (!job_.has_safe_points())
    return false;
  const auto running = agents_.generation();
  auto order = start_ahead{running, agents_.common_plan().restart_count, {}};
  auto are_awaited = false;
  for (auto* x : agents_.next_members()) {
    if (x->ahead_of != running && x->holds == generation_id{}
        && x->parked.local_ranks.empty()) {
      x->ahead_of = running;
      x->is_awaited = true;
      order.agents.push_back(x->offering.agent);
    }
    are_awaited |= x->is_awaited;
  }
  if (!order.agents.empty())
    step_.add(std::move(order));
  if (are_awaited && !step_.is_armed(alarm::ahead)) {
    step_.disarm(alarm::settle);
    step_.arm(alarm::ahead, step_.now() + ahead_max);
  }
  return are_awaited;
}

void newcomers::on_late() {
  for (const auto& [id, x] : agents_.records())
    agents_.find(id)->is_awaited = false;
}

void newcomers::end() {
  since_.reset();
  for (auto which : {alarm::settle, alarm::ahead})
    step_.disarm(which);
}

} // namespace actorrun::core
