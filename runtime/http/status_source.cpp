#include "runtime/http/status_source.hpp"

#include "runtime/os/clock.hpp"

#include <utility>

namespace actorrun::detail {

namespace {} // namespace

status_source::status_source(reactor& home,
                             std::function<void(operator_question)> ask,
                             v1::OperatorRequest question,
                             const status_limits& limits)
  : home_(home), ask_(std::move(ask)), question_(std::move(question)),
    limits_(limits), path_(reply_path::open(
                       home,
                       [this](uint64_t number, v1::OperatorReply x) {
                         on_reply(number, std::move(x));
                       },
                       [this](uint64_t number, const shared_status& x) {
                         on_status(number, x->whole);
                       })) {}

status_source::~status_source() {
  path_->close();
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
  auto question = operator_question{question_, reply_path::of(path_, number)};
  question.show = reply_path::of_status(path_, number);
  ask_(std::move(question));
}

// A late answer counts, too: the actor lives again.
void status_source::on_reply(uint64_t number, v1::OperatorReply x) {
  if (x.has_status())
    return on_status(number, std::make_shared<const v1::JobStatus>(
                               std::move(*x.mutable_status())));
  end_question(number);
  newest_.is_alive = false;
  settle();
}

void status_source::on_status(uint64_t number,
                              std::shared_ptr<const v1::JobStatus> x) {
  end_question(number);
  newest_.is_alive = true;
  newest_.at = now();
  if (newest_.what != x)
    ++newest_.number;
  newest_.what = std::move(x);
  settle();
}

void status_source::end_question(uint64_t number) {
  if (number != question_count_)
    return;
  is_open_ = false;
  home_.cancel(std::exchange(deadline_, 0));
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
