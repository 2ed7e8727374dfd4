#include "runtime/http/status_source.hpp"

#include <mutex>
#include <utility>

namespace actorrun::detail {

namespace {

core::time_point now() {
  return core::time_point::clock::now();
}

} // namespace

/// Brings answers from any thread to the reactor's; drops them when the source has
/// ended, because its reactor may follow it.
struct status_source::return_path {
  static void bring(const std::shared_ptr<return_path>& self, uint64_t number,
                    v1::OperatorReply x) {
    const auto lock = std::lock_guard{self->mutex};
    if (self->home != nullptr)
      self->home->post([self, number, x = std::move(x)] {
        if (self->source != nullptr)
          self->source->on_reply(number, x);
      });
  }

  std::mutex mutex;
  reactor* home = nullptr;         ///< Null: closed. Guarded by the mutex.
  status_source* source = nullptr; ///< Of the reactor's thread.
};

status_source::status_source(reactor& home,
                             std::function<void(operator_question)> ask,
                             v1::OperatorRequest question,
                             const status_limits& limits)
  : home_(home), ask_(std::move(ask)), question_(std::move(question)),
    limits_(limits), path_(std::make_shared<return_path>()) {
  path_->home = &home_;
  path_->source = this;
}

status_source::~status_source() {
  path_->source = nullptr;
  const auto lock = std::lock_guard{path_->mutex};
  path_->home = nullptr;
  home_.cancel(deadline_);
}

void status_source::get(core::duration age, callback fn) {
  const auto is_fresh = newest_.is_alive && now() - newest_.at < age;
  const auto is_late = is_open_ && deadline_ == 0;
  if (is_fresh || (is_late && now() - asked_ < limits_.lost))
    return fn(newest_);
  waiting_.push_back(std::move(fn));
  if (!is_open_ || is_late)
    ask();
}

void status_source::ask() {
  is_open_ = true;
  asked_ = now();
  const auto number = ++question_count_;
  deadline_ = home_.after(limits_.answer, [this] { on_late(); });
  ask_({question_, [path = path_, number](v1::OperatorReply x) {
          return_path::bring(path, number, std::move(x));
        }});
}

// A late answer counts, too: the actor lives again.
void status_source::on_reply(uint64_t number, const v1::OperatorReply& x) {
  if (number == question_count_) {
    is_open_ = false;
    home_.cancel(std::exchange(deadline_, 0));
  }
  newest_.is_alive = x.has_status();
  if (x.has_status()) {
    newest_.what = std::make_shared<const v1::JobStatus>(x.status());
    newest_.at = now();
    ++newest_.number;
  }
  settle();
}

void status_source::on_late() {
  deadline_ = 0;
  newest_.is_alive = false;
  settle();
}

void status_source::settle() {
  for (const auto& fn : std::exchange(waiting_, {}))
    fn(newest_);
}

} // namespace actorrun::detail
