// Starts, watches and stops one node's workers: runs core::worker_group over
// the process_host port.
#pragma once

#include "actors/core/workers/held_queue.hpp"
#include "actors/core/workers/worker_environment.hpp"
#include "actors/core/workers/worker_group.hpp"
#include "actors/core/workers/worker_settings.hpp"
#include "actors/interfaces.hpp"
#include "actors/log.hpp"
#include "actors/ports/blocking_tasks.hpp"
#include "actors/ports/failure_evidence.hpp"
#include "actors/ports/log_layout.hpp"
#include "actors/ports/log_reader.hpp"
#include "actors/ports/master_ports.hpp"
#include "actors/ports/node_vitals.hpp"
#include "actors/ports/stuck_probe.hpp"
#include "actors/ports/worker_control.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun {

struct worker_supervisor_config {
  core::worker_settings workers;
  core::job_environment job;
  std::vector<std::string> environment; ///< What every worker inherits.
  /// Makes the processes of a generation, by local rank; their `out` and `err` are
  /// set afterwards. Runs in the actor. Null: from `workers`, `job` and
  /// `environment`.
  std::function<std::vector<ports::process_spec>(
    const core::generation_plan&, const core::generation_outputs&)>
    processes_of{};
  std::string host; ///< Named in failures.
  std::shared_ptr<ports::process_host> processes;
  /// Null: no fresh MASTER_PORT is needed.
  std::shared_ptr<ports::master_ports> ports;
  /// Null: all output stays on the console, and there are no error files.
  std::shared_ptr<ports::log_layout> layout{};
  /// Null: nothing is known of a death beyond its status.
  std::shared_ptr<ports::failure_evidence> evidence{};
  /// Where `layout` and `evidence` are called, since file systems may hang. Null:
  /// in the actor.
  std::shared_ptr<ports::blocking_tasks> files{};
  log_tailer_actor tailer{};   ///< Null: no line is shown.
  timer_server_actor timers{}; ///< Null: workers have no timers.
  /// Null: workers are not probed when they overrun a timer or cannot be killed.
  std::shared_ptr<ports::stuck_probe> probe{};
  /// Where workers say that they can live through a change. Null: none can.
  std::shared_ptr<ports::worker_control> control{};
  /// Learns where the output of workers goes. May be null.
  std::shared_ptr<ports::node_vitals> vitals{};
  /// As well; may be null.
  std::shared_ptr<ports::log_reader> reader{};
  /// By local rank; empty: workers are not bound. Without effect on processes
  /// that `processes_of` makes.
  std::vector<core::process_binding> bindings{};
  /// The owner is told `workers_stepped`.
  bool tells_steps = false;
  /// Called for every event before the group handles it; runs in the actor, must
  /// not block. May be null.
  std::function<void(const core::worker_group_event&, const core::worker_group&,
                     core::time_point now)>
    on_event{};
  log lines;
};

class worker_supervisor_state {
public:
  static constexpr const char* name = "worker-supervisor";

  /// @param owner Receives the group's events, and ends this actor.
  worker_supervisor_state(worker_supervisor_actor::pointer self,
                          worker_supervisor_config config,
                          group_owner_actor owner);

  worker_supervisor_actor::behavior_type make_behavior();
  void on_exit();

private:
  struct effect_runner;

  /// Without this actor the node would only seem to work.
  template <class Handle>
  void depend_on(const Handle& who, const char* role) {
    if (who)
      watches_.watch(self_, who, [this, role] { lose(role); });
  }

  void lose(const char* role);

  void obey(const fenced_start& order);
  void obey(const core::stop_group& order);
  void obey(const core::kill_group& order);
  void obey(const notify_group& order);
  void obey(const core::order_safe_point& order);
  void obey(const core::check_control& order);
  void tell_of_stop(const stop_lasts& x) const;
  void take(const process_report& report);
  /// @returns null if it is no process of the group's
  std::optional<ports::process_event>
  with_rank_of_now(ports::process_event event) const;
  void notify_timer_server(const process_report& known);
  void take(const worker_overrun& x);
  void take(const worker_hangs& x);
  void overrun(core::worker_overran event);
  bool has_worker(generation_id generation, uint32_t local_rank) const;
  void inspect_workers(uint32_t overdue);
  core::worker_failure explained(core::worker_failure x) const;
  void drain(uint32_t local_rank);
  void drained(generation_id generation, uint32_t local_rank);
  void release_deaths();
  void tell_deaths();
  void advance();
  bool examine(const ports::process_event& event);
  void take(death_examined x);
  void read_on(const ports::process_event& event, core::death_details details);
  void dispatch(const core::worker_group_event& event);
  void say_ended_ahead(const ports::process_exited& x) const;
  void say_spare_ended(uint32_t number, const std::string& how) const;
  core::time_point failed_at(const core::death_details& x) const;
  bool wants_account(const ports::process_exited& x,
                     const core::worker_outputs& outputs) const;
  void run_aside(std::function<void()> fn);
  void prepare();
  void take(outputs_prepared x);
  void adopt(result<core::generation_outputs> made);
  void open_store(const core::generation_plan& plan);
  void announce_outputs();
  void start();
  void refuse_start();

  // workers that live through a change
  void take(const ports::worker_message& x);
  void take(const process_spared& x);
  void take(const workers_resumed& x);
  void admit(const process_report& known);
  void admit_all();
  void begin_generation(uint32_t local_rank);
  void tell_steps();
  void park(uint32_t local_rank);
  void tell_live(const core::worker_order& order);
  void resume(const std::vector<uint32_t>& local_ranks);
  void signal(int signal, const std::vector<uint32_t>& spared);
  void release();
  void release_earlier();
  void close_outputs();
  void say_lack_of_spares();
  void start_spares(const std::vector<uint32_t>& numbers);
  void move_in(const std::map<uint32_t, uint32_t>& seated);
  /// How the process host knows a process for its life.
  struct origin {
    generation_id generation; ///< In which it was started, …
    uint32_t local_rank = 0;  ///< … as this one.
    uint32_t last = 0;        ///< Its local rank in the last group.
  };
  std::vector<uint32_t> parked_of(generation_id birth) const;
  origin origin_of(uint32_t local_rank) const;
  std::optional<uint32_t> rank_of(generation_id birth,
                                  uint32_t local_rank) const;
  core::generation_outputs outputs_of_workers() const;
  std::vector<ports::process_spec> processes();
  ports::process_spec spec_of(uint32_t local_rank) const;
  bool is_shown(uint32_t local_rank) const;

  worker_supervisor_actor::pointer self_;
  worker_supervisor_config config_;
  group_owner_actor owner_;
  watch_list watches_;
  std::optional<core::worker_group> group_;
  /// Of the workers that have lived through a change.
  std::map<uint32_t, origin> origins_;
  std::set<generation_id>
    earlier_; ///< Generations that the host has not quite released.
  std::map<uint32_t, int64_t> pids_; ///< That may speak, by local rank.
  std::string regroup_reason_;
  std::string generation_reason_;    ///< Equal on all nodes.
  generation_id followed_;           ///< The last that the tailer was told of.
  ports::fence_token decided_;       ///< When the group's start was decided.
  core::generation_outputs outputs_; ///< Of the group's workers.
  std::string refusal_;      ///< Why they cannot be started; empty: they can.
  bool lacks_store_ = false; ///< That is for lack of what may be free again.
  bool is_second_attempt_ = false;    ///< Or a later one, to start this group.
  bool is_followed_ = false;          ///< The tailer knows the group's files.
  core::time_point next_step_news_{}; ///< `workers_stepped` not earlier.
  bool lacks_spares_ = false;         ///< There should be some, and never were.
  bool had_files_ = false;            ///< In an earlier generation …
  bool lost_files_ = false;           ///< … but not in this one.
  std::vector<ports::process_spec> given_;          ///< By `processes_of`.
  core::worker_queue<ports::process_event> events_; ///< Of the group.
  uint64_t examination_count_ = 0;
  bool files_hang_ = false;      ///< Of this group: no more examinations.
  core::duration looked_back_{}; ///< At stopped workers of this group, in all.
  std::optional<core::time_point> looks_back_since_; ///< None: does not now.
};

/// Starts the actor; it ends with `kill`, when its agent drops it, or when tailer
/// or timer server end before it.
worker_supervisor_actor spawn_worker_supervisor(caf::actor_system& system,
                                                worker_supervisor_config config,
                                                group_owner_actor owner);

} // namespace actorrun
