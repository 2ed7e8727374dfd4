// Simulates the processes of one agent: what ports::process_host is in the real
// system, its warden included.
#pragma once

#include "actors/core/workers/worker_group.hpp"
#include "tests/sim/invariants.hpp"
#include "tests/sim/os_process.hpp"
#include "tests/sim/scenario.hpp"

#include <functional>
#include <memory>
#include <optional>

namespace actorrun::sim {

/// The state that all parts of a simulation share.
struct world {
  const scenario& plan;
  event_queue& queue;
  dice& roll;
  invariants& checks;
  int64_t last_pid = 1000;
  core::duration timer_lateness_max{0};  ///< Lateness in an overloaded system.
  core::duration timer_lateness_ever{0}; ///< The longest up to now.
  errc refusal = errc::none; ///< To an agent that connects, if not none.
  int start_error = 0;       ///< errno of every start, if not 0.
};

class machine {
public:
  using listener = std::function<void(epoch_id, core::worker_group_event)>;

  /// @param agent The owner of these workers: they die with it.
  machine(world& all, os_process& agent, listener on_event);

  /// @param decided What `set_fence` returned before the start was decided.
  void start(const core::epoch_plan& plan, uint64_t decided,
             invariants::epoch_record& record);
  void signal(epoch_id epoch, int signal);
  void signal_one(epoch_id epoch, uint32_t local_rank, int signal);
  /// Gives the workers notice: some end, in any way, and some go on.
  void notify(epoch_id epoch);
  void release(epoch_id epoch);
  /// @returns how often the fence had fired before
  uint64_t set_fence(core::time_point due);

  /// Suspends the machine: its workers and its warden stand still.
  void freeze();

  /// Resumes it. What should have happened meanwhile happens now, the fence first.
  void thaw();
  bool frozen() const { return frozen_; }

  /// Workers of the current epoch that run user code.
  uint32_t running_count() const;

  /// Whether a worker of any epoch runs.
  bool is_any_alive() const;

  /// Ends one of them, by a code or by a signal.
  /// @param is_bereft Its last words say that a peer has gone.
  /// @returns its pid; 0 if there is none
  int64_t break_worker(uint32_t which, int exit_code, int signal,
                       bool is_bereft = false);

  struct victim {
    epoch_id epoch;
    uint32_t local_rank = 0;
  };

  /// Makes one of them overrun a timer.
  /// @param hangs It overruns in the kernel, where SIGKILL ends it late or
  ///              never.
  std::optional<victim> hold_worker(uint32_t which, bool hangs);

private:
  struct worker {
    int64_t pid;
    uint32_t local_rank;
    bool running = true;
    bool ordered = false; ///< It was ordered to end.
    bool doomed = false;  ///< SIGKILL is pending; nothing else can end it.
    bool timed = false;   ///< Signalled for its timer, not by an order.
    bool noticed = false; ///< It knows that its node will leave.
    bool held = false;    ///< It does not continue by itself …
    bool hangs = false;   ///< … nor by a signal; SIGKILL ends its user code.
    bool is_bereft = false; ///< It says that a peer has gone.
  };

  /// The workers of one epoch.
  struct batch {
    epoch_id epoch;
    invariants::epoch_record* record;
    uint64_t decided; ///< How often the fence had fired.
    std::vector<worker> workers;
  };

  void start_one(batch& group, uint32_t local_rank);
  void deliver(batch& group, size_t i, int signal);
  void send(batch& group, size_t i, int signal);
  void obey(batch& group, size_t i, int signal);
  void die(batch& group, size_t i, int exit_code, int signal);
  void die_after(batch& group, size_t i, core::duration delay, int exit_code,
                 int signal);
  void fire_fence();
  void kill_all(core::duration delay_max);
  void tell(epoch_id epoch, core::worker_group_event event,
            int64_t dead_pid = 0);

  world& world_;
  os_process& agent_;
  listener on_event_;
  std::vector<std::unique_ptr<batch>> batches_;
  batch* current_ = nullptr;
  core::time_point busy_until_{}; ///< Orders are carried out one by one.
  core::time_point reported_until_{};
  core::time_point fence_ = core::time_point::max();
  uint64_t fence_version_ = 0;
  uint64_t fence_count_ = 0;
  bool frozen_ = false;
  std::vector<action> missed_; ///< What should have happened meanwhile.
};

} // namespace actorrun::sim
