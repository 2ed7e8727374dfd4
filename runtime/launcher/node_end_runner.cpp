#include "runtime/launcher/node_end_runner.hpp"

#include "messages/formatted.hpp"

#include <chrono>
#include <utility>
#include <variant>

namespace actorrun::detail {

namespace {

/// Calls once, some time after its start.
class one_timer final : public reactor_part {
public:
  one_timer(reactor& home, core::duration delay, reactor::task fn)
    : home_(home), delay_(delay), fn_(std::move(fn)) {}

  void start() override { id_ = home_.after(delay_, std::move(fn_)); }
  void stop() override { home_.cancel(std::exchange(id_, 0)); }

private:
  reactor& home_;
  core::duration delay_;
  reactor::task fn_;
  reactor::timer id_ = 0;
};

} // namespace

node_end_runner::node_end_runner(reactor& home, bool has_agent,
                                 node_end_orders orders, log lines)
  : home_(home), orders_(std::move(orders)), lines_(std::move(lines)),
    end_(has_agent) {}

// Events come on several threads. One of them carries out all orders, in their
// order: the last one lets the main thread destroy this object.
void node_end_runner::handle(const core::node_end_event& event) {
  {
    const auto guard = std::lock_guard{mutex_};
    events_.push_back(event);
    if (std::exchange(is_performing_, true))
      return;
  }
  for (;;) {
    auto effects = std::vector<core::node_end_effect>{};
    {
      const auto guard = std::lock_guard{mutex_};
      if (events_.empty()) {
        is_performing_ = false;
        return;
      }
      effects = end_.step(events_.front(), std::chrono::steady_clock::now());
      events_.pop_front();
    }
    for (const auto& effect : effects) {
      const auto is_last = std::holds_alternative<core::end_node>(effect);
      std::visit([this](const auto& x) { perform(x); }, effect);
      if (is_last)
        return;
    }
  }
}

bool node_end_runner::awaits_console() const {
  const auto guard = std::lock_guard{mutex_};
  return end_.awaits_console();
}

void node_end_runner::perform(const core::show_logs&) {
  orders_.show_logs([this] { handle(core::logs_shown{}); });
}

void node_end_runner::perform(const core::report_wait& x) {
  lines_.info(formatted(
    "all is over here but the last lines of the workers: their files or "
    "the reader of this console do not keep up; {} the wait",
    x.signals_left == 1 ? "another signal ends" : "two signals end"));
}

void node_end_runner::perform(const core::end_node& x) {
  orders_.on_ending(x.how);
  promise_.set_value(x.how);
  if (orders_.on_ended)
    orders_.on_ended(x.how);
}

void node_end_runner::perform(const core::arm_timer& x) {
  alarm_ = reactor_handle{
    home_, std::make_shared<one_timer>(
             home_, x.due - std::chrono::steady_clock::now(),
             [this, id = x.timer] { handle(core::timer_fired{id}); })};
}

} // namespace actorrun::detail
