// Simulates what lets a node host the coordinator, if etcd elects it: what
// etcd_leadership, etcd_host and etcd_locator are in the real system.
#pragma once

#include "actors/core/protocol/leadership.hpp"
#include "tests/sim/os_process.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace actorrun::sim {

class agent;
class cluster;
class coordinator;

class candidate {
public:
  candidate(cluster& all, std::shared_ptr<os_process> process, agent& who);

  /// The agent wants to be linked to the coordinator.
  void seek(bool was_member);

  /// What became of the attempt at an address.
  void on_reached();
  void on_missed(const failure& why);

  void change_job(const core::charter& job) { handle(core::job_changed{job}); }
  void write_outcome() { handle(core::outcome_reached{}); }

  void resign(bool job_over) { handle(core::resign_requested{job_over}); }

  /// The coordinator in this process; null: none.
  coordinator* hosted() const { return hosted_; }
  bool may_decide() const;

private:
  using answer = std::function<core::leadership_event()>;

  void handle(const core::leadership_event& event);
  void ask(std::optional<core::time_point> deadline, answer serve);
  void perform(const core::read_entry& x);
  void perform(const core::open_lease& x);
  void perform(const core::campaign& x);
  void perform(const core::open_coordinator& x);
  void perform(const core::publish& x);
  void perform(const core::write_job& x);
  void perform(const core::report_outcome_written& x);
  void perform(const core::renew_lease& x);
  void perform(const core::end_lease& x);
  void perform(const core::set_leadership_end& x) { leadership_end_ = x.due; }
  void perform(const core::close_coordinator& x);
  void perform(const core::try_endpoint& x);
  void perform(const core::report_here& x);
  void perform(const core::report_missing& x);
  void perform(const core::log_registry&) {}
  void perform(const core::arm_timer& x);

  cluster& all_;
  std::shared_ptr<os_process> process_;
  agent& who_;
  core::leadership brain_;
  core::time_point sought_{}; ///< When the agent began to look.
  core::time_point leadership_end_{};
  coordinator* hosted_ = nullptr;
};

} // namespace actorrun::sim
