#include "runtime/worker/saves.hpp"

#include "runtime/worker/actorrun_worker.h"
#include "runtime/worker/detail/own_step_page.hpp"

#include <exception>

namespace actorrun::worker {

void saved() noexcept {
  own_step_page::instance().end_save();
}

void saved(std::chrono::nanoseconds time) noexcept {
  own_step_page::instance().add_save(time);
}

saving::saving() noexcept : exception_count_(std::uncaught_exceptions()) {
  own_step_page::instance().begin_save();
}

saving::~saving() {
  own_step_page::instance().close_save(std::uncaught_exceptions()
                                       == exception_count_);
}

} // namespace actorrun::worker

// -- C ------------------------------------------------------------------------

void actorrun_saving(void) {
  actorrun::worker::own_step_page::instance().begin_save();
}

void actorrun_saved(int64_t time_ns) {
  if (time_ns < 0)
    actorrun::worker::saved();
  else
    actorrun::worker::saved(std::chrono::nanoseconds{time_ns});
}

void actorrun_save_failed(void) {
  actorrun::worker::own_step_page::instance().close_save(false);
}
