// Decides when a command runs that ends when the machine is about to go.
#pragma once

#include "actors/core/alarm_set.hpp"
#include "actors/core/time.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

/// @name What happens
/// @{

struct command_wanted {};

/// How it has ended, with the last line that it has written to each output.
struct command_ended {
  int code = 0;
  int signal = 0; ///< 0: none has ended it.
  std::string last_out{};
  std::string last_err{};
};

struct command_not_started {
  std::string why;
};

using command_event = std::variant<command_wanted, command_ended,
                                   command_not_started, timer_fired>;

/// @}
/// @name What follows
/// @{

/// Answer with `command_ended` or `command_not_started`.
struct start_command {};

/// For the log: nothing is learned from the command at present.
struct warn_of_command {
  std::string text;
};

/// The machine is about to go.
struct give_notice {
  std::string words; ///< The last line of the command's output; may be empty.
};

using command_effect
  = std::variant<arm_timer, start_command, warn_of_command, give_notice>;

/// One line per effect: `give_notice spot: terminate`.
std::string to_string(const command_effect& x);

/// @}

/// A command that ends with 0 says that the machine goes, and is not started again.
/// One that ends otherwise is, after a pause that doubles, and of which people are
/// told at first and then now and again.
class command_watch {
public:
  static constexpr auto first_pause = std::chrono::seconds{1};
  static constexpr auto longest_pause = std::chrono::seconds{60};
  /// Between two warnings.
  static constexpr auto warning_pause = std::chrono::minutes{10};

  std::vector<command_effect> step(const command_event& event, time_point now);

private:
  using effects = std::vector<command_effect>;
  enum class alarm { restart };

  void on(const command_wanted& event, time_point now, effects& out);
  void on(const command_ended& event, time_point now, effects& out);
  void on(const command_not_started& event, time_point now, effects& out);
  void on(const timer_fired& event, time_point now, effects& out);
  void start(time_point now, effects& out);
  void fail(const std::string& how, time_point now, effects& out);

  alarm_set<alarm, 1> alarms_;
  duration pause_ = first_pause;
  bool runs_ = false;
  time_point started_{}; ///< When it was started last.
  std::optional<time_point> warned_;
};

} // namespace actorrun::core
