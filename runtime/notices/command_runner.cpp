#include "runtime/notices/command_runner.hpp"

#include "actors/core/protocol/membership_events.hpp"

#include <cassert>
#include <chrono>
#include <utility>

namespace actorrun::detail {

namespace {

core::time_point now() {
  return std::chrono::steady_clock::now();
}

} // namespace

/// One overload per effect of `core::command_watch`.
struct command_runner::effect_runner {
  command_runner& self;

  void operator()(const core::arm_timer& x) {
    self.alarm_ = self.loop_.after(x.due - now(), [this_ = &self, x] {
      this_->alarm_ = 0;
      this_->step(core::timer_fired{x.timer});
    });
  }

  void operator()(const core::start_command&) {
    auto why = self.command_.start(
      self.config_.command, [this_ = &self](side_command::ending x) {
        this_->step(core::command_ended{x.code, x.signal, std::move(x.last_out),
                                        std::move(x.last_err)});
      });
    if (!why.empty())
      self.step(core::command_not_started{std::move(why)});
  }

  void operator()(const core::warn_of_command& x) {
    self.config_.lines.warn(x.text);
  }

  void operator()(const core::give_notice& x) { self.config_.notify(x.words); }
};

command_runner::command_runner(reactor& loop, command_runner_config config)
  : loop_(loop), config_(std::move(config)),
    command_(loop, {.environment = config_.environment,
                    .guardian = config_.guardian,
                    .line_size_max = core::notice_words_max}) {}

command_runner::~command_runner() {
  assert(is_over_ || !command_.runs());
}

void command_runner::start() {
  step(core::command_wanted{});
}

void command_runner::stop() {
  is_over_ = true;
  loop_.cancel(std::exchange(alarm_, 0));
  command_.stop();
}

void command_runner::step(const core::command_event& event) {
  for (const auto& effect : watch_.step(event, now()))
    if (!is_over_)
      std::visit(effect_runner{*this}, effect);
}

} // namespace actorrun::detail
