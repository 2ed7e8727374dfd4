// Runs core::node_end: steps it with events of any thread, and performs its orders.
#pragma once

#include "actors/core/protocol/node_end.hpp"
#include "actors/log.hpp"
#include "runtime/os/reactor.hpp"

#include <deque>
#include <functional>
#include <future>
#include <mutex>

namespace actorrun::detail {

/// What other parts of the node do at its end.
struct node_end_orders {
  /// Calls `done` when the console has all lines of the workers.
  std::function<void(std::function<void()> done)> show_logs;
  std::function<void()> resign_leadership;
  std::function<void(int signal)> pass_on_signal;
  /// Called before `wait` returns …
  std::function<void(const core::ending&)> on_ending;
  /// … and after. May be null.
  std::function<void(const core::ending&)> on_ended;
};

/// All functions may be called from any thread, but none during its destruction.
class node_end_runner {
public:
  /// @param home      Lives longer.
  /// @param has_agent Else the node has a coordinator only.
  node_end_runner(reactor& home, bool has_agent, node_end_orders orders,
                  log lines);

  void handle(const core::node_end_event& event);

  /// Nothing keeps the node any more but its console.
  bool awaits_console() const;

  /// Blocks until the node is done.
  core::ending wait() const { return future_.get(); }

private:
  void perform(const core::show_logs&);
  void perform(const core::resign_leadership&) { orders_.resign_leadership(); }
  void perform(const core::pass_on_signal& x) {
    orders_.pass_on_signal(x.signal);
  }
  void perform(const core::report_failure& x) { lines_.error(x.text); }
  void perform(const core::report_wait& x);
  void perform(const core::end_node& x);
  void perform(const core::arm_timer& x);

  reactor& home_;
  node_end_orders orders_;
  log lines_;
  std::promise<core::ending> promise_;
  std::shared_future<core::ending> future_ = promise_.get_future().share();
  mutable std::mutex mutex_; // Guards the next three.
  core::node_end end_;
  std::deque<core::node_end_event> events_; ///< For `end_`.
  bool is_performing_
    = false; ///< A thread steps `end_` and performs its orders.
  /// The timer of `end_`, which arms it once. The first to go: it calls back.
  reactor_handle alarm_;
};

} // namespace actorrun::detail
