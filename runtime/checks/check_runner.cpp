#include "runtime/checks/check_runner.hpp"

#include "actors/core/checks/built_in.hpp"
#include "actors/core/failure.hpp"
#include "actors/core/text.hpp"

#include <utility>

namespace actorrun::detail {

namespace {

/// The shell's code for a command that it does not find.
constexpr auto code_of_no_command = 127;

/// What has gone wrong; empty: nothing.
std::string trouble_of(const side_command::ending& x) {
  if (x.signal != 0)
    return "killed by " + core::signal_name(x.signal);
  return x.code == 0 ? std::string{} : "exit code " + std::to_string(x.code);
}

/// What has failed mostly says why on its standard error. A name that is not found may
/// be meant to be one of ours.
std::string words_of(const side_command::ending& x) {
  auto out = x.last_err.empty() ? x.last_out : x.last_err;
  if (x.code != code_of_no_command)
    return out;
  out += "; checks of actorrun are";
  for (const auto known : core::built_in_checks)
    out += (known == core::built_in_checks.front() ? " " : ", ")
           + std::string{core::to_string(known)};
  return out;
}

class shell_check_runner final : public reactor_part {
public:
  shell_check_runner(reactor& loop, side_command::config config, own_checks own)
    : loop_(loop), command_(loop, std::move(config)), own_(std::move(own)) {}

  void start() override {}

  void stop() override {
    is_over_ = true;
    disarm();
    command_.stop();
  }

  void run(const core::run_check& what,
           std::function<void(core::check_ended)> on_end) {
    if (is_over_ || command_.runs())
      return;
    const auto run = what.run;
    auto why
      = command_.start(line_of(what.command),
                       [this, run, on_end](const side_command::ending& x) {
                         disarm();
                         on_end({run, trouble_of(x), words_of(x)});
                       });
    if (!why.empty())
      return on_end({run, "cannot be started", std::move(why)});
    alarm_ = loop_.after(what.limit, [this, run, on_end, limit = what.limit] {
      alarm_ = 0;
      command_.stop();
      on_end(
        {run, "it has not ended within " + core::duration_text(limit), {}});
    });
  }

private:
  std::string line_of(const std::string& command) const {
    return core::built_in_of(command) && !own_.program.empty()
             ? core::command_of(command, own_.program, own_.folders)
             : command;
  }

  void disarm() { loop_.cancel(std::exchange(alarm_, 0)); }

  reactor& loop_;
  side_command command_;
  own_checks own_;
  reactor::timer alarm_ = 0;
  bool is_over_ = false;
};

class check_runner_port final : public ports::check_runner {
public:
  check_runner_port(std::shared_ptr<reactor> loop, side_command::config config,
                    own_checks own)
    : loop_(std::move(loop)), runner_(std::make_shared<shell_check_runner>(
                                *loop_, std::move(config), std::move(own))),
      handle_(*loop_, runner_) {}

  void run(const core::run_check& what,
           std::function<void(core::check_ended)> on_end) override {
    loop_->post([runner = runner_, what, on_end = std::move(on_end)] {
      runner->run(what, on_end);
    });
  }

private:
  std::shared_ptr<reactor> loop_; // Outlives the next.
  std::shared_ptr<shell_check_runner> runner_;
  reactor_handle handle_;
};

} // namespace

std::shared_ptr<ports::check_runner>
make_check_runner(std::shared_ptr<reactor> loop,
                  std::vector<std::string> environment,
                  std::shared_ptr<warden> guardian, own_checks own) {
  return std::make_shared<check_runner_port>(
    std::move(loop),
    side_command::config{.environment = std::move(environment),
                         .guardian = std::move(guardian)},
    std::move(own));
}

} // namespace actorrun::detail
