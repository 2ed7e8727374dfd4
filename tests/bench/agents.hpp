// Agents of one job on the loopback interface.
#pragma once

#include "tests/bench/setting.hpp"

#include <csignal>
#include <vector>

namespace actorrun::bench {

/// A job of several agents with stamping workers. The first agent hosts the
/// coordinator; the others may be killed and replaced.
class agents {
public:
  struct shape {
    uint32_t agent_count = 1;
    uint32_t agent_count_min = 1; ///< A fixed job if equal to the count.
    uint32_t worker_count = 1;    ///< Of each agent.
    const char* worker = "stamp"; ///< Its program, next to this one.
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

  /// The expected number of workers in the newest generation.
  stamps& newest() { return newest_; }
  const stamps& newest() const { return newest_; }
  uint64_t generation() const {
    return newest_.empty() ? 0 : newest_[0].generation;
  }

  /// Waits for a generation newer than the newest, with that many workers.
  result<stamps> await_next(size_t count);

  /// The workers of one agent in the newest generation.
  stamps workers_of(size_t index) const;

  /// Starts one agent more, and waits until it stands by.
  result<void> add_standby(setting& s);

  /// Kills an agent with SIGKILL.
  void kill(size_t index) { programs_[index].signal(SIGKILL); }

  /// Reaps an agent that was killed, and starts another in its place, which has to
  /// stand by.
  result<void> replace_by_standby(setting& s, size_t index);

  /// Kills the last agent with SIGKILL.
  void kill_last() { kill(programs_.size() - 1); }

  /// Reaps the last agent, and starts another in its place.
  result<void> replace_last(setting& s);

  /// True if no agent has ended.
  bool all_running();

private:
  agents(stamp_tracker tracker, const shape& x, std::string endpoint)
    : tracker_(std::move(tracker)), shape_(x), endpoint_(std::move(endpoint)) {}

  result<program> start_one(setting& s, size_t index);
  result<void> await_standby(size_t index) const;

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
