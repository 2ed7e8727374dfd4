// Takes part in a job with one node's workers: runs core::membership over the
// links to the coordinator and the node's worker supervisor.
#pragma once

#include "actors/core/hangs/node_silence.hpp"
#include "actors/core/protocol/membership.hpp"
#include "actors/core/stragglers/node_pace.hpp"
#include "actors/core/stragglers/node_saves.hpp"
#include "actors/interfaces.hpp"
#include "actors/log.hpp"
#include "actors/node_checker.hpp"
#include "actors/node_readings.hpp"
#include "actors/ports/device_monitor.hpp"
#include "actors/ports/node_vitals.hpp"
#include "actors/ports/step_counters.hpp"
#include "actors/status_fetch.hpp"
#include "actors/worker_supervisor.hpp"

#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace actorrun {

struct node_agent_config {
  core::offer offering; ///< An empty address: that of the link.
  core::job_settings settings;
  core::timeouts limits;
  worker_supervisor_config supervisor;
  std::shared_ptr<ports::coordinator_locator> locator;
  /// The options that lead actorctl to the coordinator:
  /// `--rdzv-endpoint=n1:29400 --rdzv-id=job1`; empty: it is in this process.
  std::string coordinator_place{};
  /// What happens, and what helps, if it is lost.
  core::coordinator_source next_coordinator{};
  std::vector<job_observer_actor> observers;
  /// Before what the node is checked, and how; without a runner it is not.
  node_checker_config checks{};
  /// When the job counts as hung; needs `vitals`.
  core::hang_limits hangs{};
  /// When a worker counts as slower than the others; needs `steps`.
  core::straggler_limits stragglers{};
  /// Null: how long workers compute is not known.
  std::shared_ptr<ports::step_counters> steps{};
  /// Null: the node has no devices.
  std::shared_ptr<ports::device_monitor> devices{};
  /// Null: how the node and its workers are doing is not known.
  std::shared_ptr<ports::node_vitals> vitals{};
  log lines;
  /// For how long this machine has been suspended since its start; never
  /// decreases. The clock of actors does not count that time, but it passes for
  /// leases: others may have taken our place. Null: never.
  std::function<core::duration()> time_asleep{};
  /// Called on a scheduler thread when the agent is asked to leave, before it tells
  /// a coordinator of it. Null: there is nothing to do.
  std::function<void(const core::leave_requested&)> on_leaving{};
  /// Called once, on a scheduler thread, when the agent has ended.
  std::function<void(core::ending)> on_finished;
};

class node_agent_state {
public:
  static constexpr const char* name = "node-agent";

  node_agent_state(node_agent_actor::pointer self, node_agent_config config);

  node_agent_actor::behavior_type make_behavior();
  void on_exit();

private:
  struct effect_runner;

  /// What is being asked of this machine.
  struct pending_samples {
    bool devices = false;
    bool vitals = false;
    bool timers = false;

    bool any() const { return devices || vitals || timers; }
  };

  void on(const v1::JoinAccepted& x);
  void on(const v1::JoinRejected& x);
  void on(const v1::GenerationFormed& x);
  void on(const v1::GenerationRevoked& x);
  void on(const v1::JobEnded& x);
  void on(const v1::DrainNotice& x);
  void on(const core::report_fitness& x);
  void begin_checks();
  void on(const core::limit_near& x);
  void on(const core::notice_received& x);
  std::string way_to_save() const;
  void on(const v1::EndHungWorker& x);
  void on(const signs_due& x);
  void watch_workers(generation_id generation);
  void watch_signs(generation_id generation);
  void watch_steps(generation_id generation);
  void on(const steps_due& x);
  void look_at_steps();
  std::map<uint32_t, core::step_reading> read_steps() const;
  void tell_saves(const std::map<uint32_t, core::step_reading>& seen,
                  bool is_last);
  void end_saves();
  std::optional<core::worker_steps> steps_of(uint32_t local_rank) const;
  std::vector<core::worker_signs> running_workers() const;
  void look_for_signs(std::function<void()> then);
  void report_signs(const core::silence_report& x);
  void note_step(generation_id generation);
  void on(const v1::SafePointOrder& x);
  void on(const v1::StartAhead& x);
  void on(const v1::LogLevelOrder& x);
  void on(const operator_question& x);
  void seek();
  void say_missing(const failure& why);
  void say_loss();
  void say_back(const v1::JoinAccepted& x);
  std::string place_of_coordinator() const;
  void link_up(const ports::location& where);
  void announce_whereabouts(const ports::location& where);
  core::duration time_asleep() const;
  core::time_point now() const;
  core::membership_event on_own_clock(core::membership_event event) const;
  void dispatch(const core::membership_event& event);
  void on(const devices_report& x);
  void on(const vitals_report& x);
  void on(const timer_figures& x);
  void sample_timers();
  void on(const status_due& x);
  void on(const v1::NodeStatusRequest& x);
  void on(const v1::LogReading& x);
  void on(const v1::StacksRequest& x);
  void on(const stacks_seen& x);
  void read_logs(const operator_question& x);
  void read_stacks(const operator_question& x);
  void answer_question(const operator_question& x);
  void answer_about_own_node(const operator_question& x);
  void explain(const operator_question& x) const;
  using stacks_sink = std::function<void(std::vector<core::worker_stack>)>;
  void see_stacks(const std::vector<uint32_t>& ranks, stacks_sink to);
  void end_job(const v1::JobEnded& x);
  void announce_devices();
  void sample();
  void when_sampled(std::function<void()> fn);
  void end_wait();
  v1::NodeStatus devices_status() const;
  void show_status(bool for_watch, const status_fetch::sink& to);
  caf::result<v1::JobStatus> status();
  v1::JobStatus own_status() const;

  const std::string& id() const { return membership_.offering().agent.value; }

  /// Sends to the coordinator, if there is a link to it.
  template <class T>
  void report(T x) {
    if (coordinator_)
      tell(self_, coordinator_, std::move(x));
  }

  template <class T>
  T about(generation_id generation) const {
    auto notice = T{};
    notice.set_agent_id(id());
    notice.set_generation(generation.value);
    return notice;
  }

  void tell_over(generation_over x);

  template <class T>
  void observe(const T& x) {
    for (const auto& observer : config_.observers)
      tell(self_, observer, x);
  }

  node_agent_actor::pointer self_;
  node_agent_config config_;
  core::membership membership_;
  watch_list watches_;
  rendezvous_coordinator_actor coordinator_;
  worker_supervisor_actor supervisor_;
  node_checker_actor checker_;              ///< Null: the node is not checked.
  std::optional<generation_begun> present_; ///< The generation that runs here.
  bool is_end_told_ = false;                ///< To observers.
  std::vector<int64_t> pids_;    ///< Of the newest generation's workers.
  ports::fence_token fence_;     ///< When it was last set …
  core::time_point fence_due_{}; ///< … to this.
  std::optional<core::fence_fired> fired_;      ///< Seen while it was set.
  std::optional<core::devices_status> devices_; ///< As last seen.
  core::node_vitals vitals_;                    ///< As last seen.
  core::time_point sampled_{};                  ///< When that was.
  std::vector<core::last_request> timers_;      ///< As last seen.
  pending_samples pending_;
  std::vector<std::function<void()>> waiting_; ///< For the end of `pending_`.
  uint64_t wait_count_ = 0;                    ///< Names the newest wait.
  std::optional<core::node_silence> silence_; ///< None: nothing counts as hung.
  uint64_t look_count_ = 0;       ///< Names the newest look for signs of life.
  bool is_deafness_told_ = false; ///< That no sign could be seen.
  /// When a live worker was last seen to pass a safe point, in this generation.
  std::optional<core::time_point> stepped_;
  std::optional<core::node_pace> pace_; ///< None: no worker counts as slow.
  core::node_saves saves_;              ///< Seen likewise.
  uint64_t step_look_count_ = 0;        ///< Names the newest look at steps.
  status_fetch fetch_;
  node_readings readings_;
  /// Who waits for stacks of these.
  struct stacks_wait {
    std::vector<ports::probed_worker> workers;
    stacks_sink to;
  };
  std::map<uint64_t, stacks_wait> stacks_; ///< By number.
  uint64_t last_stacks_ = 0;
  std::optional<v1::JobEnded> ended_; ///< Waits until all lines are read.
  uint16_t liveness_port_ = 0; ///< Where this process can be probed; or 0.
  uint16_t voter_port_ = 0;    ///< Where it answers as a voter; or 0.
  errc missing_ = errc::none;  ///< Why there is no coordinator, as last logged.
  bool has_met_ = false;       ///< There was one.
  /// The loss of the last one that was told, or is to be, by the time it began.
  std::optional<core::time_point> lost_;
  bool is_loss_told_ = false;
  std::string
    last_coordinator_;   ///< `pid 4711 on n2`, the last that has accepted it.
  bool is_over_ = false; ///< The ending was reported.
  bool remote_ = false;  ///< The coordinator is in another process.
};

node_agent_actor spawn_node_agent(caf::actor_system& system,
                                  node_agent_config config);

} // namespace actorrun
