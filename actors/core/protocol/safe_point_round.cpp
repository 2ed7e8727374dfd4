#include "actors/core/protocol/safe_point_round.hpp"

#include <algorithm>
#include <cassert>

namespace actorrun::core {

safe_point_order safe_point_round::order() const {
  if (!is_active_)
    return {safe_point_order::kind::go_on, 0, number_};
  if (step_)
    return {safe_point_order::kind::stop_at, *step_, number_};
  return {safe_point_order::kind::hold, 0, number_};
}

void safe_point_round::begin(const std::vector<agent_id>& members,
                             time_point now) {
  assert(!is_active_);
  ++number_;
  began_ = now;
  is_active_ = true;
  members_ = {members.begin(), members.end()};
  waiting_ = members_;
}

void safe_point_round::end() {
  const auto number = number_;
  *this = {};
  number_ = number;
}

// An agent may be told of the next round before what it has said in the last one has
// arrived.
safe_point_round::progress
safe_point_round::take(const agent_id& member,
                       const safe_point_report& report) {
  using kind = safe_point_report::kind;
  assert(is_active_);
  if (!members_.contains(member) || report.round != number_)
    return progress::none;
  if (report.what == kind::refused)
    return progress::refused;
  const auto is_answer
    = step_ ? report.what == kind::reached && report.step == *step_
            : report.what == kind::held;
  if (!is_answer || waiting_.erase(member) == 0)
    return progress::none;
  if (!step_)
    largest_ = std::max(largest_, report.step);
  return advance();
}

safe_point_round::progress safe_point_round::leave(const agent_id& member) {
  assert(is_active_);
  members_.erase(member);
  return waiting_.erase(member) == 0 ? progress::none : advance();
}

safe_point_round::progress safe_point_round::advance() {
  if (!waiting_.empty())
    return progress::none;
  if (step_)
    return progress::all_there;
  step_ = largest_;
  waiting_ = members_;
  return waiting_.empty() ? progress::all_there : progress::all_hold;
}

} // namespace actorrun::core
