#include "actors/core/protocol/node_end.hpp"

#include <utility>

namespace actorrun::core {

std::vector<node_end_effect> node_end::step(const node_end_event& event,
                                            time_point now) {
  auto out = effects{};
  if (is_over_)
    return out;
  std::visit([&](const auto& x) { on(x, now, out); }, event);
  if (!is_over_)
    advance(now, out);
  return out;
}

void node_end::on(const coordinator_closed& event, time_point, effects&) {
  closed_with_ = event.result;
}

// With the outcome unknown, our leadership would keep the other nodes from a
// coordinator that goes on. With the outcome known, they need us until they know
// it, too.
void node_end::on(const agent_finished& event, time_point, effects& out) {
  agents_ = event.how;
  hosts_ = event.hosts;
  if (!event.how.result || !event.hosts)
    out.emplace_back(resign_leadership{});
  out.emplace_back(show_logs{});
}

void node_end::on(const leadership_left&, time_point, effects&) {
  hosts_ = false;
}

void node_end::on(const logs_shown&, time_point, effects&) {
  shown_ = true;
}

// The console's reader may have stopped reading, and a file system with logs
// answering: a second signal waits for neither.
void node_end::on(const signal_received& event, time_point, effects& out) {
  ++signal_count_;
  if (signal_count_ > 1 && is_protocol_over())
    shown_ = true;
  out.emplace_back(pass_on_signal{event.signal});
}

// Whether the job goes on elsewhere, and how it has ended, it does not know.
void node_end::on(const witness_gave_up& event, time_point, effects& out) {
  if (!closed_with_)
    end({.result = {}, .why = event.why, .signal = 0}, out);
}

// No agent controls the workers any more, or no coordinator decides for the
// others: the node ends at once, which ends its workers.
void node_end::on(const actor_died& event, time_point, effects& out) {
  const auto is_agent = event.which == actor_died::role::agent;
  if (is_agent ? agents_.has_value() : closed_with_.has_value())
    return;
  auto why = failure{errc::system_failure,
                     std::string{"the "} + (is_agent ? "agent" : "coordinator")
                       + " of this node has failed (" + event.reason
                       + "); its workers are ended"};
  out.emplace_back(report_failure{why.text});
  end({.result = {}, .why = std::move(why), .signal = 0}, out);
}

void node_end::on(const timer_fired& event, time_point, effects& out) {
  const auto fired = alarms_.take(event.timer);
  if (!fired)
    return;
  if (fired->which == alarm::hurry)
    shown_ = true;
  else
    out.emplace_back(report_wait{2 - signal_count_});
}

bool node_end::is_protocol_over() const {
  if (!has_agent_)
    return closed_with_.has_value();
  return agents_ && (!hosts_ || closed_with_);
}

void node_end::wait(time_point now, effects& out) {
  if (std::exchange(is_waiting_, true))
    return;
  out.emplace_back(signal_count_ > 1
                     ? alarms_.arm(alarm::hurry, now + hurry_max)
                     : alarms_.arm(alarm::silence, now + silence_max));
}

void node_end::advance(time_point now, effects& out) {
  if (!is_protocol_over())
    return;
  if (has_agent_ && !shown_) {
    wait(now, out);
    return;
  }
  auto how = agents_ ? *agents_
                     : ending{.result = closed_with_, .why = {}, .signal = 0};
  // An agent that gives up workers goes before it hears what became of the job.
  if (how.why && !how.result)
    how.result = closed_with_;
  end(std::move(how), out);
}

void node_end::end(ending how, effects& out) {
  is_over_ = true;
  out.emplace_back(end_node{std::move(how)});
}

} // namespace actorrun::core
