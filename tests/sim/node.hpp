// Simulates what a launcher does: it ends one process, which has an agent, a
// coordinator or both.
#pragma once

#include "actors/core/protocol/node_end.hpp"
#include "tests/sim/dice.hpp"
#include "tests/sim/invariants.hpp"
#include "tests/sim/os_process.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace actorrun::sim {

class node {
public:
  /// @param pass_on What becomes of a signal, …
  /// @param resign … and what ends the leadership, if it is elected.
  node(event_queue& queue, dice& roll, invariants& checks,
       std::shared_ptr<os_process> process, bool has_agent,
       std::function<void(int signal)> pass_on, std::function<void()> resign)
    : queue_(queue), roll_(roll), checks_(checks), process_(std::move(process)),
      end_(has_agent), pass_on_(std::move(pass_on)),
      resign_(std::move(resign)) {
    seen_.has_agent = has_agent;
  }
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  void handle(const core::node_end_event& event);

private:
  /// What has happened in this process, as an observer sees it.
  struct observation {
    bool has_agent = true;
    std::optional<core::ending> agents;
    bool hosts = false; ///< Beside the agent, when that had finished.
    std::optional<core::outcome> closed;
    bool shown = false;
    bool crashed = false; ///< An actor that was still needed has ended.
    uint32_t signals = 0;
    /// Since when only the console keeps the node, …
    std::optional<core::time_point> alone_since;
    uint32_t signals_then = 0; ///< … and the signals up to then.
    bool is_pressed = false;   ///< A further signal has come since.
    uint32_t wait_count = 0;   ///< How often the user was told to wait.

    bool is_console_left() const {
      return has_agent ? agents && (!hosts || closed) : closed.has_value();
    }
    /// The deadline of those who had asked twice before.
    bool is_hurried(core::time_point now) const {
      return alone_since && signals_then > 1
             && now >= *alone_since + core::node_end::hurry_max;
    }
  };

  void see(const core::node_end_event& event);
  void await_console();
  void check(const core::node_end_event& event,
             const std::vector<core::node_end_effect>& effects);
  void check_ending(const core::ending& how);
  void perform(const core::show_logs&);
  void perform(const core::resign_leadership&) { resign_(); }
  void perform(const core::pass_on_signal& x) { pass_on_(x.signal); }
  void perform(const core::report_failure&) {}
  void perform(const core::report_wait& x);
  void perform(const core::end_node& x);
  void perform(const core::arm_timer& x);

  event_queue& queue_;
  dice& roll_;
  invariants& checks_;
  std::shared_ptr<os_process> process_;
  core::node_end end_;
  std::function<void(int signal)> pass_on_;
  std::function<void()> resign_;
  observation seen_;
};

} // namespace actorrun::sim
