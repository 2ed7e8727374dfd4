// Simulates what a launcher does: it ends one process, which has an agent, a
// coordinator or both.
#pragma once

#include "actors/core/protocol/node_end.hpp"
#include "tests/sim/dice.hpp"
#include "tests/sim/os_process.hpp"

#include <functional>
#include <memory>

namespace actorrun::sim {

class node {
public:
  /// @param pass_on What becomes of a signal, …
  /// @param resign … and what ends the leadership, if it is elected.
  node(event_queue& queue, dice& roll, std::shared_ptr<os_process> process,
       bool has_agent, std::function<void(int signal)> pass_on,
       std::function<void()> resign)
    : queue_(queue), roll_(roll), process_(std::move(process)), end_(has_agent),
      pass_on_(std::move(pass_on)), resign_(std::move(resign)) {}
  node(const node&) = delete;
  node& operator=(const node&) = delete;

  void handle(const core::node_end_event& event);

private:
  void perform(const core::show_logs&);
  void perform(const core::resign_leadership&) { resign_(); }
  void perform(const core::pass_on_signal& x) { pass_on_(x.signal); }
  void perform(const core::report_failure&) {}
  void perform(const core::report_wait&) {}
  void perform(const core::end_node&) { process_->kill(); }
  void perform(const core::arm_timer& x);

  event_queue& queue_;
  dice& roll_;
  std::shared_ptr<os_process> process_;
  core::node_end end_;
  std::function<void(int signal)> pass_on_;
  std::function<void()> resign_;
};

} // namespace actorrun::sim
