#include "tests/sim/node.hpp"

#include <csignal>

namespace actorrun::sim {

namespace {

using namespace std::chrono_literals;

constexpr auto show_max = core::duration{5ms};
/// The reader of the console has stopped for a while, …
constexpr auto slow_show_max = core::duration{4s};
constexpr auto slow_show_percent = 15;
/// … and a person who waits for it sends a second signal.
constexpr auto impatient_percent = 60;

constexpr auto moment = core::duration{11ms};

template <class Effect>
size_t count(const std::vector<core::node_end_effect>& effects) {
  auto n = size_t{0};
  for (const auto& x : effects)
    n += std::holds_alternative<Effect>(x);
  return n;
}

} // namespace

void node::handle(const core::node_end_event& event) {
  see(event);
  const auto effects = end_.step(event, queue_.now());
  check(event, effects);
  for (const auto& effect : effects)
    std::visit([this](const auto& x) { perform(x); }, effect);
}

void node::see(const core::node_end_event& event) {
  auto& x = seen_;
  if (const auto* closed = std::get_if<core::coordinator_closed>(&event)) {
    x.closed = closed->result;
  } else if (const auto* gone = std::get_if<core::agent_finished>(&event)) {
    x.agents = gone->how;
    x.hosts = gone->hosts;
  } else if (std::holds_alternative<core::leadership_left>(event)) {
    x.hosts = false;
  } else if (std::holds_alternative<core::logs_shown>(event)) {
    x.shown = true;
  } else if (std::holds_alternative<core::signal_received>(event)) {
    ++x.signals;
    x.is_pressed |= x.alone_since && x.signals > 1;
  } else if (const auto* dead = std::get_if<core::actor_died>(&event)) {
    const auto is_agent = dead->which == core::actor_died::role::agent;
    x.crashed |= is_agent ? !x.agents : !x.closed;
  }
  if (x.is_console_left() && !x.alone_since)
    await_console();
}

// From now on the console has some time, and the user learns why the node is
// still there.
void node::await_console() {
  seen_.alone_since = queue_.now();
  seen_.signals_then = seen_.signals;
  if (!seen_.has_agent)
    return;
  if (seen_.signals > 1)
    process_->after(core::node_end::hurry_max + moment, [this] {
      checks_.report("node: it waits for its console, and was asked twice");
    });
  else
    process_->after(core::node_end::silence_max + moment, [this] {
      if (seen_.wait_count == 0)
        checks_.report("node: it does not say what it waits for");
    });
}

// A node ends when nothing keeps it, and not before.
void node::check(const core::node_end_event& event,
                 const std::vector<core::node_end_effect>& effects) {
  const auto& x = seen_;
  const auto now = queue_.now();
  const auto ends = count<core::end_node>(effects) == 1;
  const auto is_due
    = x.crashed
      || (x.is_console_left() && (!x.has_agent || x.shown || x.is_pressed));
  if (is_due && !ends)
    checks_.report("node: nothing keeps it, and it does not end");
  if (ends && !is_due && !(x.is_console_left() && x.is_hurried(now)))
    checks_.report("node: it ends too soon");
  const auto is_signal = std::holds_alternative<core::signal_received>(event);
  if (count<core::pass_on_signal>(effects) != size_t{is_signal})
    checks_.report("node: agent and coordinator do not hear of each signal");
  // Whoever leaves without the outcome must not keep others from going on, and
  // whoever has it stays until they know it, too.
  const auto* gone = std::get_if<core::agent_finished>(&event);
  const auto resigns = gone != nullptr && (!gone->how.result || !gone->hosts);
  if (count<core::resign_leadership>(effects) != size_t{resigns})
    checks_.report(resigns ? "node: it holds the leadership and has no agent"
                           : "node: it ends its leadership too soon");
  if (count<core::report_failure>(effects) != size_t{x.crashed})
    checks_.report("node: the user is told wrongly that an actor has failed");
}

// The user learns all that this process knows of the job's end.
void node::check_ending(const core::ending& how) {
  auto known = core::ending{};
  if (seen_.crashed)
    known.why = how.why && how.why->code == errc::system_failure
                  ? how.why
                  : failure{errc::system_failure, "an actor has failed"};
  else if (seen_.agents)
    known = *seen_.agents;
  // Its machine's troubles are not the outcome. Who leaves on request asks for
  // none.
  const auto is_open = !seen_.agents || (known.why && !known.result);
  if (!seen_.crashed && is_open)
    known.result = seen_.closed;
  if (how != known)
    checks_.report("node: its user learns something else than has happened");
}

void node::perform(const core::show_logs&) {
  const auto slow = roll_.percent(slow_show_percent);
  const auto length
    = roll_.between(core::duration{0}, slow ? slow_show_max : show_max);
  process_->after(length, [this] { handle(core::logs_shown{}); });
  if (!slow || !roll_.percent(impatient_percent))
    return;
  const auto n = roll_.between(1, 3);
  for (uint64_t i = 0; i < n; ++i)
    process_->after(roll_.between(core::duration{0}, length),
                    [this] { handle(core::signal_received{SIGINT}); });
}

void node::perform(const core::report_wait& x) {
  if (++seen_.wait_count > 1 || !seen_.alone_since
      || queue_.now() < *seen_.alone_since + core::node_end::silence_max)
    checks_.report("node: it tells its user to wait, without need");
  if (x.signals_left == 0 || x.signals_left + seen_.signals != 2)
    checks_.report("node: it says that " + std::to_string(x.signals_left)
                   + " more signals will do");
}

void node::perform(const core::end_node& x) {
  check_ending(x.how);
  process_->kill();
}

void node::perform(const core::arm_timer& x) {
  process_->at(x.due, [this, timer = x.timer] {
    handle(core::timer_fired{timer});
    handle(core::timer_fired{timer}); // Which is over.
  });
}

} // namespace actorrun::sim
