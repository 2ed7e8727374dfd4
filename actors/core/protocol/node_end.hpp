// Decides when a node is done with a job: its agent, its coordinator and its
// console end in any order, and signals may hurry them.
#pragma once

#include "actors/core/alarm_set.hpp"
#include "actors/core/protocol/membership_events.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

/// @name What happens to a node
/// @{

/// The job is over, and all its agents know.
struct coordinator_closed {
  outcome result;
};

/// The agent has nothing more to do.
struct agent_finished {
  ending how;
  bool hosts = false; ///< A coordinator is in this process.
};

/// The coordinator in this process has stopped; another takes over, or none.
struct leadership_left {};

/// The console has all lines of the workers.
struct logs_shown {};

/// A person or a system asks this node to end.
struct signal_received {
  int signal = 0;
};

/// This node is a witness, and finds no leader of its job.
struct witness_gave_up {
  failure why;
};

/// One of our actors has ended unexpectedly.
struct actor_died {
  enum class role { agent, coordinator };
  role which = role::agent;
  std::string reason;
};

using node_end_event
  = std::variant<coordinator_closed, agent_finished, leadership_left,
                 logs_shown, signal_received, witness_gave_up, actor_died,
                 timer_fired>;

/// @}
/// @name What a node has to do
/// @{

/// Answer with `logs_shown` when the console has all lines.
struct show_logs {};

/// Give up the leadership, if it is ours, and seek it no more.
struct resign_leadership {};

/// Tell agent and coordinator of this process.
struct pass_on_signal {
  int signal = 0;
};

/// Log this error: no other part of the program does.
struct report_failure {
  std::string text;
};

/// Tell the user why the node is still there: all is over but the console has not
/// all lines of the workers, or files of theirs do not answer. Comes at most once.
struct report_wait {
  uint32_t signals_left = 2; ///< So many more signals end the wait.
};

/// The node is done. Comes once, and last.
struct end_node {
  ending how;
};

using node_end_effect
  = std::variant<show_logs, resign_leadership, pass_on_signal, report_failure,
                 report_wait, end_node, arm_timer>;

/// @}

class node_end {
public:
  /// Longest wait for the console after a second signal.
  static constexpr auto hurry_max = std::chrono::seconds{1};
  /// A wait for the console that lasts longer is told to the user.
  static constexpr auto silence_max = std::chrono::seconds{2};

  /// @param has_agent Else the node has a coordinator only.
  explicit node_end(bool has_agent) : has_agent_(has_agent) {}

  std::vector<node_end_effect> step(const node_end_event& event,
                                    time_point now);

  /// Nothing keeps the node any more but its console.
  bool awaits_console() const { return is_protocol_over() && !is_over_; }

private:
  using effects = std::vector<node_end_effect>;
  enum class alarm { hurry, silence };

  void on(const coordinator_closed& event, time_point now, effects& out);
  void on(const agent_finished& event, time_point now, effects& out);
  void on(const leadership_left& event, time_point now, effects& out);
  void on(const logs_shown& event, time_point now, effects& out);
  void on(const signal_received& event, time_point now, effects& out);
  void on(const witness_gave_up& event, time_point now, effects& out);
  void on(const actor_died& event, time_point now, effects& out);
  void on(const timer_fired& event, time_point now, effects& out);
  bool is_protocol_over() const;
  void wait(time_point now, effects& out);
  void advance(time_point now, effects& out);
  void end(ending how, effects& out);

  bool has_agent_;
  std::optional<ending> agents_;       ///< How the agent has finished …
  bool hosts_ = false;                 ///< … beside a coordinator.
  std::optional<outcome> closed_with_; ///< By the coordinator of this process.
  alarm_set<alarm, 2> alarms_;
  uint32_t signal_count_ = 0;
  bool is_waiting_ = false; ///< For the console alone.
  bool shown_ = false;      ///< The console is not awaited any more.
  bool is_over_ = false;
};

} // namespace actorrun::core
