#include "actors/core/notices/command_watch.hpp"

#include "actors/core/text.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

namespace {

/// `ended with code 7 ("curl: (7) Failed to connect")`
std::string text_of(const command_ended& x) {
  const auto name = signal_name(x.signal);
  auto out = x.signal == 0  ? "ended with code " + std::to_string(x.code)
             : name.empty() ? "was killed by signal " + std::to_string(x.signal)
                            : "was killed by " + name;
  const auto& line = x.last_err.empty() ? x.last_out : x.last_err;
  return line.empty() ? out : out + " (\"" + line + "\")";
}

} // namespace

std::vector<command_effect> command_watch::step(const command_event& event,
                                                time_point now) {
  auto out = effects{};
  std::visit([&](const auto& x) { on(x, now, out); }, event);
  return out;
}

void command_watch::on(const command_wanted&, time_point now, effects& out) {
  start(now, out);
}

void command_watch::on(const command_ended& event, time_point now,
                       effects& out) {
  if (!std::exchange(runs_, false))
    return;
  if (event.signal == 0 && event.code == 0)
    out.emplace_back(give_notice{event.last_out});
  else
    fail(text_of(event), now, out);
}

void command_watch::on(const command_not_started& event, time_point now,
                       effects& out) {
  if (std::exchange(runs_, false))
    fail("cannot be started: " + event.why, now, out);
}

void command_watch::on(const timer_fired& event, time_point now, effects& out) {
  if (alarms_.take(event.timer))
    start(now, out);
}

void command_watch::start(time_point now, effects& out) {
  runs_ = true;
  started_ = now;
  out.emplace_back(start_command{});
}

// One that has run for long has worked until then.
void command_watch::fail(const std::string& how, time_point now, effects& out) {
  if (now - started_ >= longest_pause)
    pause_ = first_pause;
  if (!warned_ || now - *warned_ >= warning_pause) {
    warned_ = now;
    out.emplace_back(
      warn_of_command{"the notice command " + how + "; it is started again in "
                      + duration_text(pause_)
                      + ", and until it works, nothing is learned from it"});
  }
  out.emplace_back(alarms_.arm(alarm::restart, now + pause_));
  pause_ = std::min<duration>(2 * pause_, longest_pause);
}

std::string to_string(const command_effect& x) {
  struct {
    std::string operator()(const arm_timer& y) const {
      return "arm_timer " + std::to_string(y.timer.value);
    }
    std::string operator()(const start_command&) const {
      return "start_command";
    }
    std::string operator()(const warn_of_command& y) const {
      return "warn: " + y.text;
    }
    std::string operator()(const give_notice& y) const {
      return "give_notice " + y.words;
    }
  } writer;
  return std::visit(writer, x);
}

} // namespace actorrun::core
