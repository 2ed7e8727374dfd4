// Decides how one node's workers of one generation start, fail, stop and end.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/time.hpp"
#include "actors/core/workers/overdue_worker.hpp"
#include "actors/core/workers/step_hold.hpp"
#include "actors/core/workers/worker_group_events.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::core {

/// The visible state of one worker.
struct worker_record {
  /// `absent`: a spare that is not to be started yet.
  /// `delayed`: its start has failed for lack of something, and is tried again.
  /// `parked`: it belongs to no generation. `given_up`: SIGKILL has not ended it,
  /// and it is no longer waited for.
  enum class state : uint8_t {
    absent,
    waiting,
    delayed,
    running,
    parked,
    ended,
    given_up
  };
  state now = state::waiting;
  int64_t pid = 0;      ///< 0 until it has been started.
  bool is_live = false; ///< It can live through a change: it has said so.
  /// It has gone past a safe point, in this generation or in an earlier one.
  bool has_stepped = false;
};

/// What a group has left that the next one goes on with.
struct parked_workers {
  generation_id generation;           ///< The last that they took part in.
  std::map<uint32_t, int64_t> pids{}; ///< By local rank; spares come last.
  std::set<uint32_t> stepped{}; ///< Those that have gone past safe points.
};

///                    all started            all exited with 0
///  idle -> preparing -> starting -> running ---------------------> succeeded
///             |            |           |
///             +------------+- one failed or did not start --> failed
///             |            |           |                        |
///             +------------+-----------+------- stop order -----+--> stopping
///                                                                       |
///                                                                    stopped
///
/// The failure of a worker whose own words say that a peer has gone is held back,
/// here and in no phase of its own, until a worker fails for another reason, an
/// order to stop comes, no peer is left that could explain it, or its time is over.
///
/// A start that fails because processes, descriptors or memory are used up costs
/// nothing yet: it is tried again after growing pauses, for half a minute.
///
/// A worker that ends after a stop order has been stopped and has not failed. A
/// worker that ended before the order, or had begun to, and is noticed later has
/// failed, and is reported last. So has one that died of a signal that was not sent
/// by us, though that is no reason for the stop. So has, once another one has
/// failed here, a worker whose error file is older than the order: it had failed
/// and was on its way out. So has a worker that was signalled before the order
/// because of its timer, and one that SIGKILL does not end in time: that one counts
/// as ended, because it will never run an instruction of its own again.
///
/// A live worker need not end when the group is stopped for the sake of the next
/// generation: it is asked to park, and is killed if it has not within the grace
/// period. It is parked when it has said so and the fence leaves it alone: one that
/// the fence was quicker to kill ends with this generation. Parked workers belong
/// to no generation. The next group starts with them: it hands them its plan, and
/// starts only what is missing. One that a plan names a survivor, and that has
/// ended meanwhile, has failed in that generation: its peers rely on it.
///
/// A group that is started ahead has no generation yet: its workers park as soon as
/// they can. It has stopped when all that live are parked. None of them fails: one
/// that ends is started again with the generation.
///
/// Before a change that can wait, all live workers are brought to one step. One
/// that has never come to a safe point may have none, so that none is waited for.
///
/// A spare is a process with a number after the last local rank: it is started when
/// all workers run and are live, as one that is started ahead, parks, and takes part
/// in nothing. When the group stops it is parked, and takes a place that is vacant in
/// the next one; or it has not come so far and is killed. It never fails. One that
/// ends is started again with the next generation, so that one that always ends is
/// not started all the time. Where no generation follows for a minute, it ends.
class worker_group {
public:
  enum class phase {
    idle,
    preparing,
    starting,
    running,
    succeeded,
    failed,
    stopping,
    stopped,
  };

  /// @param host Named in failures.
  /// @param kill_timeout  From SIGKILL to giving up a worker; 0: never.
  /// @param start_timeout From the order to start to the failure of a worker that
  ///                      does not run yet; 0: never.
  /// @param parked What the last group has left: `parked()`.
  /// @param spare_count How many spares there are to be.
  /// @pre the placement has at least one slot; there is one, or a spare, for each that
  ///      is parked
  worker_group(generation_plan plan, std::string host,
               std::chrono::milliseconds kill_timeout
               = std::chrono::milliseconds{0},
               std::chrono::milliseconds start_timeout
               = std::chrono::milliseconds{0},
               const parked_workers& parked = {}, uint32_t spare_count = 0);

  /// Applies one event and returns its effects. Deterministic.
  std::vector<worker_group_effect> step(const worker_group_event& event,
                                        time_point now);

  phase current_phase() const { return phase_; }
  const generation_plan& plan() const { return plan_; }

  /// By local rank, then the spares.
  const std::vector<worker_record>& workers() const { return workers_; }

  bool is_spare(uint32_t number) const {
    return number >= plan_.own.slot_count;
  }

  /// Spares take the places in which the plan would have workers started. Until this
  /// they belong to no generation, and are not counted on in a plan.
  /// @pre it is preparing, and `workers_prepared` follows
  /// @returns the number that each of them had, by its local rank
  std::map<uint32_t, uint32_t> seat_spares();

  /// The workers and spares that are parked now.
  parked_workers parked() const;

  /// Whether a death noticed at `when` was ordered; 0: a death now.
  bool has_ordered(time_point when) const {
    return phase_ >= phase::stopping
           && (when == time_point{} || when >= stop_ordered_at_);
  }

  /// Whether this end was. That of a worker that was ending already was not, nor
  /// one by a signal that was not ours.
  bool has_ordered(const worker_exited& x) const {
    return has_ordered(x.when) && !x.was_ending && !x.is_foreign;
  }

  /// Whether the details of another failure would be reported, or decide what is.
  /// If not, it is only counted.
  bool lists_more() const {
    return is_active() || others_.listed.size() < other_failures_max;
  }

  /// Whether a worker that is being stopped may have failed before, which its error
  /// file says. A group that is stopped for no failure of its own asks for none.
  bool looks_back() const {
    return phase_ == phase::stopping && first_.has_value();
  }

  /// Whether workers that are being stopped still have time.
  bool has_grace() const { return grace_timer_.value != 0; }

  /// Whether what this timer does now depends on which workers have ended.
  bool counts_ends(timer_id x) const;

private:
  using effects = std::vector<worker_group_effect>;

  void on(const start_ordered& event, time_point now, effects& out);
  void on(const workers_prepared& event, time_point now, effects& out);
  void on(const worker_started& event, time_point now, effects& out);
  void on(const worker_not_started& event, time_point now, effects& out);
  void on(const worker_exited& event, time_point now, effects& out);
  void on(const worker_greeted& event, time_point now, effects& out);
  void on(const worker_parked& event, time_point now, effects& out);
  void on(const worker_spared& event, time_point now, effects& out);
  void on(const worker_hung_up& event, time_point now, effects& out);
  void on(const worker_stepped& event, time_point now, effects& out);
  void on(const worker_held& event, time_point now, effects& out);
  void on(const worker_reached& event, time_point now, effects& out);
  void on(const safe_point_order& event, time_point now, effects& out);
  bool have_stepped() const;
  void answer_order(effects& out);
  void on(const stop_ordered& event, time_point now, effects& out);
  void on(const kill_ordered& event, time_point now, effects& out);
  void on(const timer_fired& event, time_point now, effects& out);
  void on(const worker_overran& event, time_point now, effects& out);
  void on(const worker_probed& event, time_point now, effects& out);
  void end_overdue(uint32_t local_rank, overdue_worker& x, time_point now,
                   effects& out);
  timer_id arm(time_point due, effects& out);
  void resume(time_point now, effects& out);
  void fail_survivor(uint32_t local_rank, time_point now, effects& out);
  void ask_to_park(std::chrono::milliseconds grace, effects& out) const;
  bool can_park(uint32_t local_rank) const;
  void stop_parked(const stop_ordered& event, time_point now, effects& out);
  void lose_parked(worker_record& worker, effects& out);
  void end_parking();
  std::vector<uint32_t> in_state(worker_record::state state) const;
  std::vector<uint32_t> parked_processes() const;
  std::vector<uint32_t> spared() const;
  void start_spares(effects& out);
  std::vector<uint32_t> spares_under_way() const;
  void kill_spares(time_point now, effects& out);
  void await_place(time_point now, effects& out);
  void end_spares(time_point now, effects& out);
  parked_share parked_ranks() const;
  void kill_all(time_point now, effects& out);
  void fail_late_start(time_point now, effects& out);
  bool delay(const worker_not_started& event, time_point now, effects& out);
  void try_again(time_point now, effects& out);
  void start_delayed(effects& out);
  void end_delayed();
  void give_up_all(time_point now, effects& out);
  void give_up(uint32_t local_rank, time_point now, effects& out);
  worker_record* in_state(uint32_t local_rank, worker_record::state state);
  void fail(worker_failure failure, time_point when, time_point now,
            effects& out);
  void fail_early(worker_failure failure, const worker_exited& event,
                  time_point now, effects& out);
  void report_failure(worker_failure failure, time_point when, time_point now,
                      effects& out);
  void report_first(worker_failure failure, time_point now, effects& out);
  void add_other(worker_failure failure, time_point now);
  collateral others_at(time_point now) const;
  void hold_back(worker_failure failure, time_point now, effects& out);
  void end_hold(time_point now, effects& out);
  void settle(time_point now, effects& out);

  /// No worker is known to have failed, or it is held back.
  bool is_active() const {
    return phase_ >= phase::preparing && phase_ <= phase::running;
  }

  generation_plan plan_;
  std::string host_;
  std::chrono::milliseconds kill_timeout_;
  std::chrono::milliseconds start_timeout_;
  phase phase_ = phase::idle;
  std::vector<worker_record> workers_;
  uint32_t waiting_count_; ///< Or delayed.
  uint32_t ended_count_ = 0;
  uint32_t parked_count_ = 0;
  generation_id parked_generation_; ///< The last that those took part in.
  bool may_park_ = false;           ///< Live workers, in this stop.
  bool has_told_parked_ = false;    ///< Some were parked in the last report.
  int stop_signal_ = 0;
  step_hold hold_;         ///< While it runs.
  bool has_begun_ = false; ///< To start workers.
  timer_id last_timer_;
  timer_id start_timer_;
  timer_id
    retry_timer_; ///< Of the next attempt to start those that are delayed.
  std::optional<time_point> short_since_; ///< Something is lacking.
  std::chrono::milliseconds next_pause_{};
  timer_id hold_timer_;  ///< Of the only time that failures are held back.
  timer_id grace_timer_; ///< Set while the grace period lasts.
  timer_id kill_timer_;  ///< Set when all have been killed.
  timer_id spare_timer_; ///< Set when spares have been killed, or wait in vain.
  uint32_t given_up_count_ = 0;
  std::map<uint32_t, overdue_worker> overdue_; ///< By local rank.
  time_point start_ordered_at_{};
  time_point stop_ordered_at_{};
  std::set<uint32_t> early_; ///< Local ranks; failed before they ended.
  std::optional<worker_failure> first_; ///< As reported, aged up to …
  time_point first_aged_at_{};
  /// Failures beside the first, and those that are held back, aged up to …
  collateral others_;
  time_point others_aged_at_{};
};

} // namespace actorrun::core
