#include "actors/core/protocol/restart_policy.hpp"

#include <algorithm>

namespace actorrun::core {

restart_policy::answer
restart_policy::on_failure(generation_id generation,
                           const worker_failure& failure) {
  if (generation <= charged_)
    return answer::collateral;
  if (is_permanent(failure) || restart_count_ >= restart_count_max_)
    return answer::give_up;
  ++restart_count_;
  charged_ = generation;
  return answer::restart;
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
