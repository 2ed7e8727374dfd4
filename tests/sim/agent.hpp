// Simulates an agent's process: what node_agent and worker_supervisor do in the
// real system, around the shipped decisions.
#pragma once

#include "actors/core/checks/node_checks.hpp"
#include "actors/core/workers/held_queue.hpp"
#include "tests/sim/history.hpp"
#include "tests/sim/machine.hpp"
#include "tests/sim/network.hpp"
#include "tests/sim/saving_workers.hpp"

#include <map>
#include <optional>
#include <set>

namespace actorrun::sim {

class cluster;

class agent {
public:
  /// @param host Its host; several agents may live there one after another.
  /// @param settings What its command line asks for.
  agent(cluster& all, std::shared_ptr<os_process> process, uint32_t host,
        core::offer offering, core::job_settings settings);

  void start() { handle(core::agent_started{}); }
  void handle(const core::membership_event& event);

  /// To the first coordinator it claims a generation that there never was.
  void lie() { lies_ = true; }

  /// A time limit will end the job. Workers that get notice of it go on.
  void hear_of_limit(core::duration left);

  // -- results of attempts to connect -----------------------------------------

  /// @param number Of the coordinator that was found.
  /// @param is_remote It is in another process.
  void on_found(std::shared_ptr<link> found, int number, bool is_remote);
  void on_not_found(failure why, core::time_point tried);
  void on_closed(const link* closed);

  // -- state ------------------------------------------------------------------

  const agent_id& id() const { return brain_.offering().agent; }
  const core::membership& brain() const { return brain_; }
  const core::job_settings& settings() const { return settings_; }
  uint32_t host() const { return host_; }
  /// The coordinator to which it was linked last; 0: none.
  int served_by() const { return served_by_; }

  /// Whether its machine says that it has ended, when it has: its warden lives.
  bool has_tombstone() const { return !warden_dies_; }
  void lose_warden() { warden_dies_ = true; }

  bool leased() const { return brain_.offering().leased; }
  os_process& process() const { return *process_; }
  const std::shared_ptr<os_process>& shared_process() const { return process_; }
  machine& workers() { return machine_; }

  /// Its node is checked, or a check has ended.
  void check(const core::check_event& event);

  /// A worker has not released a timer in time.
  void overrun(const machine::victim& who, int signal);
  const std::shared_ptr<link>& current_link() const { return link_; }
  /// Messages of this link reach it.
  bool hears(const std::shared_ptr<link>& over) const {
    return link_ == over || dropped_ == over;
  }
  bool finished() const { return ending_.has_value(); }

  /// It has told a coordinator that it leaves, or left it.
  bool is_going() const { return is_going_; }

  bool tries_second_way() const { return tries_second_way_; }
  void on_second_way();
  const std::optional<core::ending>& how_ended() const { return ending_; }

  /// It takes part, and has not been ordered to leave.
  bool active() const {
    return process_->alive() && !finished() && !leaving_ && !is_draining_;
  }

  /// Messages arrive that are over: they must change nothing.
  void hear_late();

  /// The newest generation it has begun.
  generation_id newest() const { return newest_; }

  /// The next readings of its GPUs tell the coordinator of a fault, or that it is over.
  void read_gpus();

  /// What coordinators have told it of the job.
  const std::optional<core::charter>& heard() const { return heard_; }

  /// No generation that it has heard of has a higher term, or a higher number.
  generation_id highest_heard() const {
    return heard_ ? later(heard_->newest, newest_) : newest_;
  }

private:
  void run(const core::membership_effect& effect);
  void perform(const core::arm_timer& x);
  void perform(const core::seek_coordinator& x);
  void perform(const core::drop_link& x);
  void perform(const core::try_second_way& x);
  void perform(const core::forget_second_way& x);
  void perform(const core::send_join& x);
  void perform(const core::check_control& x);
  void perform(const core::send_keep_alive& x);
  void perform(const core::send_started& x);
  void perform(const core::send_failed& x);
  void perform(const core::send_succeeded& x);
  void perform(const core::send_stopped& x);
  void perform(const core::send_safe_point& x);
  void perform(const core::order_safe_point& x);
  void perform(const core::send_leaving& x);
  void perform(const core::send_left& x);
  void perform(const core::send_notice& x);
  void perform(const core::start_group& x);
  void perform(const core::stop_group& x);
  void perform(const core::kill_group& x);
  void perform(const core::notify_workers& x);
  void perform(const core::set_fence& x);
  void perform(const core::finish& x);

  void tell_gpus_once_joined(const core::membership_event& event);

  void obey(const core::arm_timer& x);
  void obey(const core::run_check& x);
  void obey(const core::report_fitness& x);
  void obey(const core::report_check&) {}

  /// By the clock of its machine, which began to count when the machine did.
  core::time_point now() const;
  void wake_at(core::time_point due, action what);

  void take(generation_id generation, core::worker_group_event event,
            int64_t pid);
  void tell_deaths(generation_id generation);
  void advance(generation_id generation);
  bool examine(const core::worker_group_event& event);
  void handle_group(generation_id generation,
                    const core::worker_group_event& event);
  void perform(generation_id generation, const core::arm_timer& x);
  void perform(generation_id generation, const core::prepare_workers& x);
  void perform(generation_id generation, const core::start_workers& x);
  void perform(generation_id generation, const core::start_spares& x);
  void perform(generation_id, const core::report_shortage&) {}
  void perform(generation_id generation, const core::resume_workers& x);
  void perform(generation_id generation, const core::ask_to_park& x);
  void perform(generation_id generation, const core::order_steps& x);
  void perform(generation_id generation, const core::report_safe_point& x);
  void perform(generation_id generation, const core::park_worker& x);
  void perform(generation_id generation, const core::report_parked& x);
  std::vector<int64_t> pids_of(const std::vector<uint32_t>& local_ranks) const;
  void perform(generation_id generation, const core::signal_workers& x);
  void perform(generation_id generation, const core::release_workers& x);
  void perform(generation_id generation, const core::report_started& x);
  void perform(generation_id generation, const core::report_failed& x);
  void perform(generation_id generation, const core::report_succeeded& x);
  void perform(generation_id generation, const core::report_stopped& x);
  void perform(generation_id generation, const core::probe_workers& x);
  void perform(generation_id generation, const core::signal_worker& x);

  void hear(const core::membership_event& event);
  void check_link();
  void check_written(const core::membership_event& event);
  void check_share(const core::membership_event& event,
                   core::share_state before, generation_id generation_before);
  void check_orders(const core::membership_event& event,
                    const std::vector<core::membership_effect>& effects);
  void check_lease(const core::membership_event& event,
                   const std::vector<core::membership_effect>& effects);
  void check_telling();
  void check_beginning(const core::membership_event& event,
                       const std::vector<core::membership_effect>& effects);
  void ignores(const core::membership_event& event);
  void check_end(const core::ending& how);
  void check_drain(const core::membership_event& event);
  void check_answer(errc code, bool was_accepted, bool was_ending);
  void check_told(const core::send_stopped& x);
  void check_kind(const core::worker_failure& x);
  void check_hold(const core::worker_failure& x);
  void post_supervisor(action what);
  void post_order(generation_id generation, core::worker_group_event event);
  void post_brain(core::membership_event event);
  void send(core::rendezvous_event event);
  core::claim invented() const;

  cluster& all_;
  std::shared_ptr<os_process> process_;
  core::duration clock_; ///< Ahead of the simulation's.
  uint32_t host_;
  core::job_settings settings_;
  core::membership brain_;
  core::node_checks checks_;
  machine machine_;
  std::optional<core::worker_group> group_;
  core::worker_queue<core::worker_group_event> events_;
  uint64_t examination_count_ = 0;
  /// Pids of the generation's workers that ended by themselves with a code other
  /// than 0 …
  std::set<int64_t> failed_;
  std::set<int64_t> reported_pids_; ///< … and of those that were reported.
  /// When a worker was signalled for its timer, by pid.
  std::map<int64_t, core::time_point> timed_;
  saving_workers saves_;
  uint32_t unkillable_count_ = 0;
  core::time_point fence_due_{};
  std::optional<core::fence_fired> late_fence_; ///< Seen as it was set.
  uint64_t fence_count_ = 0; ///< When the fence was last set …
  uint64_t decided_ = 0;     ///< … before the group's start was ordered.
  core::time_point stalled_until_{}; ///< The supervisor gets no CPU.
  std::shared_ptr<link> link_;
  std::shared_ptr<link> dropped_; ///< And not known to be gone.
  bool tries_second_way_ = false;
  bool has_second_way_ = false;     ///< The next attempt need not wait.
  bool is_seeking_ = false;         ///< An attempt to connect has no answer.
  core::time_point missed_{};       ///< When the last attempt or link ended.
  core::time_point joined_until_{}; ///< When it was last a member.
  std::optional<core::ending> ending_;
  bool lies_ = false;
  bool leaving_ = false;
  bool is_draining_ = false; ///< An operator has ordered it to leave.
  bool has_limit_ = false;
  bool is_job_over_ = false;      ///< And it knows.
  std::optional<timer_id> fired_; ///< A timer that is over.
  bool is_going_ = false;     ///< It has told a coordinator that it leaves, …
  bool said_leaving_ = false; ///< … and so over this link …
  bool said_left_ = false;    ///< … and that it has left.
  /// What the coordinator was told last, over this link, of the workers here.
  std::optional<std::pair<generation_id, core::share_state>> told_;
  std::optional<core::time_point> join_sent_;  ///< And not answered yet.
  std::optional<core::time_point> unanswered_; ///< Keep-alive, sent …
  uint32_t unanswered_pause_ = 0;              ///< … after so many pauses.
  uint16_t port_;         ///< Held for the next generation.
  generation_id stopped_; ///< The last whose workers were ordered to stop.
  std::optional<core::time_point> asked_;    ///< The supervisor, at last.
  core::time_point asked_at_{};              ///< When that was.
  std::optional<core::time_point> answered_; ///< What it was asked before.
  uint32_t keep_alive_count_ = 0;            ///< Over this link.
  /// Announced over this link, and neither begun nor revoked.
  std::optional<core::generation_plan> awaited_;
  generation_id revoked_;    ///< The newest, over this link.
  bool warden_dies_ = false; ///< In one instant with the process.
  int served_by_ = 0;
  bool is_remote_ = false; ///< That one is in another process.
  generation_id newest_;
  std::optional<core::charter> heard_;
  invariants::generation_record* record_ = nullptr;
  generation_id ahead_of_; ///< Its workers were started ahead of it; 0: not so.
  /// Of those: they belong to no generation.
  invariants::generation_record ahead_record_;
};

} // namespace actorrun::sim
