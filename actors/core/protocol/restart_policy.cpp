#include "actors/core/protocol/restart_policy.hpp"

#include "actors/core/text.hpp"

#include <algorithm>

namespace actorrun::core {

restart_policy::answer restart_policy::on_failure(generation_id generation,
                                                  const worker_failure& failure,
                                                  end_class what) {
  if (generation <= charged_)
    return answer::collateral;
  steps_.ended();
  return charge(generation, failure, what);
}

restart_policy::answer restart_policy::charge(generation_id generation,
                                              const worker_failure& failure,
                                              end_class what) {
  last_class_ = what;
  const auto action = rules_.action_for(what);
  const auto is_hopeless = is_permanent(failure) && action == end_action::usual;
  if (action == end_action::stop || is_hopeless || is_without_progress()
      || restart_count_ >= restart_count_max_)
    return answer::give_up;
  ++restart_count_;
  charged_ = later(charged_, generation);
  return answer::restart;
}

std::string restart_policy::why_given_up() const {
  if (rules_.action_for(last_class_) == end_action::stop)
    return rule_text(last_class_, end_action::stop);
  if (is_without_progress())
    return counted(steps_.idle_count(), "restart")
           + " in a row got not past step " + std::to_string(steps_.highest())
           + " (--restarts-without-progress="
           + std::to_string(rules_.idle_restarts_max) + ")";
  return {};
}

void restart_policy::add_end(const worker_failure& x, time_point now) {
  row_.add(x, std::max(now - begun_ - x.age, duration{0}), now);
}

void restart_policy::set_maximum(uint32_t restart_count_max) {
  restart_count_max_ = restart_count_max;
  restart_count_ = std::min(restart_count_, restart_count_max);
}

void restart_policy::restore(uint32_t restart_count, generation_id charged) {
  restart_count_
    = std::max(restart_count_, std::min(restart_count, restart_count_max_));
  charged_ = later(charged_, charged);
}

} // namespace actorrun::core
