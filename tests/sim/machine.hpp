// Simulates the processes of one agent: what ports::process_host is in the real
// system, its warden included.
#pragma once

#include "actors/core/workers/worker_group.hpp"
#include "tests/sim/invariants.hpp"
#include "tests/sim/os_process.hpp"
#include "tests/sim/scenario.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>

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
  errc refusal = errc::none;     ///< To an agent that connects, if not none.
  int start_error = 0;           ///< errno of every start, if not 0.
  std::set<uint32_t> bad_gpus{}; ///< The hosts that have one.
};

class machine {
public:
  /// @param pid Of the worker that it is about; 0: of none that has run.
  using listener
    = std::function<void(generation_id, core::worker_group_event, int64_t pid)>;

  /// @param agent The owner of these workers: they die with it.
  machine(world& all, os_process& agent, listener on_event);

  /// @param decided What `set_fence` returned before the start was decided.
  void start(const core::generation_plan& plan,
             const std::vector<uint32_t>& local_ranks, uint64_t decided,
             invariants::generation_record& record);
  /// A spare has taken the place of a worker.
  void move(int64_t pid, uint32_t local_rank);
  /// Workers that are parked go on with this generation.
  void resume(const core::generation_plan& plan,
              const std::vector<int64_t>& pids, uint64_t decided,
              invariants::generation_record& record);
  /// Tells them that their generation is over.
  void ask_to_park(const std::vector<int64_t>& pids);
  /// Tells them how far they may go.
  void order_steps(const std::vector<int64_t>& pids,
                   const core::safe_point_order& order);
  /// The fence spares this one from now on, unless it has fired; who is spared is
  /// told.
  void park(int64_t pid);
  /// Those of the generation, except the spared local ranks; and those with these
  /// pids, which are of earlier ones.
  void signal(generation_id generation, int signal,
              const std::vector<uint32_t>& spared,
              const std::vector<int64_t>& pids);
  /// @param is_order It is to end, not for its timer.
  void signal_one(int64_t pid, int signal, bool is_order);
  /// Gives the workers notice: some end, in any way, and some go on.
  void notify(generation_id generation);
  void release(generation_id generation);
  /// @returns how often the fence had fired before
  uint64_t set_fence(core::time_point due);

  /// Suspends the machine: its workers and its warden stand still.
  void freeze();

  /// Resumes it. What should have happened meanwhile happens now, the fence first.
  void thaw();
  bool frozen() const { return frozen_; }

  /// Workers of the current generation that run user code.
  uint32_t running_count() const;

  /// Whether a worker of any generation runs, or is parked.
  bool is_any_alive() const;

  /// Whether a worker of any generation runs.
  bool is_any_at_work() const;

  bool is_any_parked() const;

  /// Ends one of them, by a code or by a signal.
  /// @param is_bereft Its last words say that a peer has gone.
  /// @returns its pid; 0 if there is none
  int64_t break_worker(uint32_t which, int exit_code, int signal,
                       bool is_bereft = false);

  struct victim {
    generation_id generation;
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
    uint64_t sent = 0;    ///< Signals that it was sent by us, as bits.
    bool doomed = false;  ///< SIGKILL is pending; nothing else can end it.
    bool timed = false;   ///< Signalled for its timer, not by an order.
    bool noticed = false; ///< It knows that its node will leave.
    bool held = false;    ///< It does not continue by itself …
    bool hangs = false;   ///< … nor by a signal; SIGKILL ends its user code.
    bool is_bereft = false;     ///< It says that a peer has gone.
    generation_id generation{}; ///< The last that it took part in.
    invariants::generation_record* record = nullptr;
    bool is_live = false;   ///< It can live through a change.
    bool is_parked = false; ///< It belongs to no generation …
    bool is_spared = false; ///< … and the fence leaves it alone.
    uint64_t guarded = 0;   ///< How often it had fired before that was untrue.
    uint32_t term = 0;      ///< Generations that it took part in before.
    uint32_t rank = 0;      ///< Global, in its generation.
    bool has_greeted = false;
    bool is_ahead = false; ///< It has had no generation yet.
    uint64_t step = 0; ///< Of the next safe point; it has gone past all before.
    bool is_there = false;                         ///< At that safe point.
    bool is_done = false;                          ///< And its work is.
    std::optional<core::safe_point_order> order{}; ///< That holds it.
    core::time_point ordered_at{}; ///< When it has taken the last order.

    bool is_at_work() const { return running && !is_parked; }
  };

  /// The workers of one generation.
  struct batch {
    core::generation_plan plan;
    invariants::generation_record* record;
    uint64_t decided; ///< How often the fence had fired.
    std::vector<worker> workers;
  };

  struct place {
    batch* group = nullptr;
    size_t i = 0;
  };

  void start_one(batch& group, uint32_t local_rank,
                 invariants::generation_record& record);
  void begin_ahead(batch& group, size_t i);
  void begin_work(batch& group, size_t i);
  void work_on(batch& group, size_t i);
  bool is_at_work(const worker& x, uint32_t term) const;
  void arrive(batch& group, size_t i, uint32_t term);
  void go_past(batch& group, size_t i);
  void take_order(batch& group, size_t i, const core::safe_point_order& order,
                  uint32_t term);
  void greet(const worker& x);
  void say_parked(batch& group, size_t i, uint32_t term);
  void leave_parked(batch& group, size_t i, uint32_t term);
  std::vector<place> alive();
  place find(int64_t pid);
  void deliver(batch& group, size_t i, int signal);
  void look(int64_t pid = 0);
  void send(batch& group, size_t i, int signal);
  void obey(batch& group, size_t i, int signal);
  void die(batch& group, size_t i, int exit_code, int signal);
  void die_after(batch& group, size_t i, core::duration delay, int exit_code,
                 int signal);
  void fire_fence();
  void kill_all(core::duration delay_max, bool with_parked);
  void tell(generation_id generation, core::worker_group_event event,
            int64_t pid = 0);

  world& world_;
  os_process& agent_;
  listener on_event_;
  std::vector<std::unique_ptr<batch>> batches_;
  std::vector<batch*> living_;    ///< With workers that have not ended.
  generation_id current_;         ///< That was begun last.
  generation_id unreleased_;      ///< 0: none.
  core::time_point busy_until_{}; ///< Orders are carried out one by one.
  core::time_point reported_until_{};
  core::time_point fence_ = core::time_point::max();
  uint64_t fence_version_ = 0;
  uint64_t fence_count_ = 0;
  bool frozen_ = false;
  /// Workers that nothing of ours has ended, whose end is not known yet; when one
  /// was found ending.
  std::map<int64_t, std::optional<core::time_point>> dying_;
  std::vector<action> missed_; ///< What should have happened meanwhile.
};

} // namespace actorrun::sim
