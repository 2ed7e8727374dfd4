// Agents of one job on the loopback interface.
#pragma once

#include "tests/bench/setting.hpp"

#include <vector>

namespace actorrun::bench {

/// A job of several agents whose workers stamp. The first agent hosts the
/// coordinator; the last one may be killed and started anew.
class agents {
public:
  struct shape {
    uint32_t agent_count = 1;
    uint32_t agent_count_min = 1; ///< Equal to the count: a fixed job.
    uint32_t worker_count = 1;    ///< Of each agent.
  };

  /// Starts all agents at once and returns before they have met.
  static result<agents> start(setting& s, const shape& x);

  /// Starts agents and waits until all workers run.
  static result<agents> meet(setting& s, const shape& x);

  stamp_board& board() { return board_; }
  const shape& size() const { return shape_; }

  /// By the order of their start.
  pid_t pid(size_t index) const { return programs_[index].pid(); }

  uint32_t worker_count() const {
    return shape_.agent_count * shape_.worker_count;
  }

  /// The workers that run, or shall run, in the newest epoch.
  stamps& newest() { return newest_; }
  const stamps& newest() const { return newest_; }
  uint64_t epoch() const { return newest_.empty() ? 0 : newest_[0].epoch; }

  /// Waits for an epoch newer than the newest with so many workers.
  result<stamps> await_next(size_t count);

  /// Of the newest epoch, those of one agent.
  stamps workers_of(size_t index) const;

  /// Kills the last agent with SIGKILL, and reaps it.
  void kill_last();

  /// Starts another agent in the place of the last.
  result<void> replace_last(setting& s);

  /// True if no agent has ended.
  bool all_running();

private:
  agents(stamp_board board, const shape& x, std::string endpoint)
    : board_(std::move(board)), shape_(x), endpoint_(std::move(endpoint)) {}

  result<program> start_one(setting& s, size_t index);

  /// What has become of each agent, for people.
  std::string account();

  stamp_board board_;
  shape shape_;
  std::string endpoint_;
  std::vector<std::string> outputs_;
  std::vector<program> programs_;
  stamps newest_;
};

} // namespace actorrun::bench
