#include "runtime/worker/steps.hpp"

#include "runtime/worker/actorrun_worker.h"
#include "runtime/worker/detail/own_step_page.hpp"

namespace actorrun::worker {

void computed(std::chrono::nanoseconds time) noexcept {
  own_step_page::instance().add(time);
}

} // namespace actorrun::worker

// -- C ------------------------------------------------------------------------

void actorrun_computed(int64_t time_ns) {
  actorrun::worker::computed(std::chrono::nanoseconds{time_ns});
}
