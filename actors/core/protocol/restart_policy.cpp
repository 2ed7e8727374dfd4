#include "actors/core/protocol/restart_policy.hpp"

#include <algorithm>
#include <cassert>

namespace actorrun::core {

restart_policy::answer
restart_policy::on_failure(generation_id generation,
                           const worker_failure& failure) {
  assert(generation >= failed_generation_);
  if (generation == failed_generation_)
    return answer::collateral;
  failed_generation_ = generation;
  return is_permanent(failure) ? answer::give_up : charge();
}

void restart_policy::defer(generation_id generation) {
  assert(generation > failed_generation_);
  failed_generation_ = generation;
}

restart_policy::answer restart_policy::charge() {
  if (restart_count_ >= restart_count_max_)
    return answer::give_up;
  ++restart_count_;
  return answer::restart;
}

void restart_policy::set_maximum(uint32_t restart_count_max) {
  restart_count_max_ = restart_count_max;
  restart_count_ = std::min(restart_count_, restart_count_max);
}

void restart_policy::restore(uint32_t restart_count) {
  restart_count_
    = std::max(restart_count_, std::min(restart_count, restart_count_max_));
}

} // namespace actorrun::core
