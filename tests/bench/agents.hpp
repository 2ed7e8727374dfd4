// Agents of one job on the loopback interface.
#pragma once

#include "tests/bench/setting.hpp"

#include <vector>

namespace actorrun::bench {

/// A job of several agents with stamping workers. The first agent hosts the
/// coordinator; the last one may be killed and replaced.
class agents {
public:
  struct shape {
    uint32_t agent_count = 1;
    uint32_t agent_count_min = 1; ///< A fixed job if equal to the count.
    uint32_t worker_count = 1;    ///< Of each agent.
  };

  /// Starts all agents at once and returns before they have met.
  static result<agents> start(setting& s, const shape& x);

  /// Starts agents and waits until all workers run.
  static result<agents> meet(setting& s, const shape& x);

  stamp_tracker& tracker() { return tracker_; }
  const shape& size() const { return shape_; }

  /// In the order of their start.
  pid_t pid(size_t index) const { return programs_[index].pid(); }

  uint32_t worker_count() const {
    return shape_.agent_count * shape_.worker_count;
  }

  /// The expected number of workers in the newest epoch.
  stamps& newest() { return newest_; }
  const stamps& newest() const { return newest_; }
  uint64_t epoch() const { return newest_.empty() ? 0 : newest_[0].epoch; }

  /// Waits for an epoch newer than the newest, with that many workers.
  result<stamps> await_next(size_t count);

  /// The workers of one agent in the newest epoch.
  stamps workers_of(size_t index) const;

  /// Kills the last agent with SIGKILL, and reaps it.
  void kill_last();

  /// Starts another agent in place of the last.
  result<void> replace_last(setting& s);

  /// True if no agent has ended.
  bool all_running();

private:
  agents(stamp_tracker tracker, const shape& x, std::string endpoint)
    : tracker_(std::move(tracker)), shape_(x), endpoint_(std::move(endpoint)) {}

  result<program> start_one(setting& s, size_t index);

  /// The state of each agent, as text.
  std::string account();

  stamp_tracker tracker_;
  shape shape_;
  std::string endpoint_;
  std::vector<std::string> outputs_;
  std::vector<program> programs_;
  stamps newest_;
};

} // namespace actorrun::bench
