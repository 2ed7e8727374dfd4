// The same job under two launchers, node by node: actorrun and torchrun.
#pragma once

#include "tests/bench/setting.hpp"

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace actorrun::bench {

enum class launcher_kind { ours, torchrun };

/// A job of stamping workers whose nodes are started one by one.
class launched_job {
public:
  struct shape {
    std::string nodes = "1";     ///< In the form of `--nnodes`.
    uint32_t worker_count = 1;   ///< Workers of each node.
    bool has_late_nodes = false; ///< Torchrun needs an option for that.
  };

  /// @pre s.python_with_torch() if the launcher is torchrun
  static result<launched_job> prepare(setting& s, launcher_kind kind,
                                      const shape& x);

  /// Starts one more node; the first one hosts the rendezvous.
  result<void> start_node(setting& s);

  pid_t pid(size_t node) const { return nodes_[node].pid(); }

  /// Kills a node's agent with SIGKILL.
  void kill_node(size_t node) const { nodes_[node].signal(SIGKILL); }

  /// The workers that a node has now.
  std::vector<pid_t> workers_of(size_t node);

  /// Waits for new workers of a world of that size. All stamps up to then count
  /// as known afterwards.
  result<stamps> await_world(uint32_t world_size, size_t count,
                             clock::time_point due);

private:
  launched_job(launcher_kind kind, shape x, stamp_tracker tracker,
               std::string endpoint)
    : kind_(kind), shape_(std::move(x)), tracker_(std::move(tracker)),
      endpoint_(std::move(endpoint)) {}

  std::vector<std::string> variables() const;
  std::vector<std::string> ours(setting& s) const;
  std::vector<std::string> torchrun(setting& s) const;

  launcher_kind kind_;
  shape shape_;
  stamp_tracker tracker_;
  std::string endpoint_;
  std::string output_; ///< Output file of the newest node.
  size_t known_ = 0;   ///< Known starts.
  std::vector<program> nodes_;
};

} // namespace actorrun::bench
