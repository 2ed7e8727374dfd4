#include "tests/sim/node.hpp"

namespace actorrun::sim {

namespace {

using namespace std::chrono_literals;

constexpr auto show_max = core::duration{5ms};
/// The reader of the console has stopped for a while.
constexpr auto slow_show_max = core::duration{2s};
constexpr auto slow_show_percent = 10;

} // namespace

void node::handle(const core::node_end_event& event) {
  for (const auto& effect : end_.step(event, queue_.now()))
    std::visit([this](const auto& x) { perform(x); }, effect);
}

void node::perform(const core::show_logs&) {
  const auto slow = roll_.percent(slow_show_percent);
  process_->after(
    roll_.between(core::duration{0}, slow ? slow_show_max : show_max),
    [this] { handle(core::logs_shown{}); });
}

void node::perform(const core::arm_timer& x) {
  process_->at(x.due,
               [this, timer = x.timer] { handle(core::timer_fired{timer}); });
}

} // namespace actorrun::sim
