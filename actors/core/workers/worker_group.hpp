// Decides how one node's workers of one generation start, fail, stop and end.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/time.hpp"
#include "actors/core/workers/failure_ledger.hpp"
#include "actors/core/workers/group_orders.hpp"
#include "actors/core/workers/group_start.hpp"
#include "actors/core/workers/group_stop.hpp"
#include "actors/core/workers/overdue_worker.hpp"
#include "actors/core/workers/step_hold.hpp"
#include "actors/core/workers/worker_group_events.hpp"
#include "actors/core/workers/worker_table.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::core {

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
/// A worker that ends after a stop order has been stopped and has not failed. A
/// worker that ended before the order, or had begun to, and is noticed later has
/// failed, and is reported last. So has one that died of a signal that was not sent
/// by us, though that is no reason for the stop. So has, once another one has
/// failed here, a worker whose error file is older than the order: it had failed
/// and was on its way out. So has a worker that was signalled before the order
/// because of its timer, and one that SIGKILL does not end in time: that one counts
/// as ended, because it will never run an instruction of its own again.
///
/// A worker that was asked to park (`group_stop`) is parked when it has said so and
/// the fence leaves it alone: one that the fence was quicker to kill ends with this
/// generation. Parked workers belong to no generation. The next group starts with them: it hands them its plan, and
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
  const std::vector<worker_record>& workers() const {
    return workers_.records();
  }

  bool is_spare(uint32_t number) const { return workers_.is_spare(number); }

  /// Spares take the places in which the plan would have workers started. Until this
  /// they belong to no generation, and are not counted on in a plan.
  /// @pre it is preparing, and `workers_prepared` follows
  /// @returns the number that each of them had, by its local rank
  std::map<uint32_t, uint32_t> seat_spares();

  /// The workers and spares that are parked now.
  parked_workers parked() const { return workers_.parked(); }

  /// Whether a death noticed at `when` was ordered; 0: a death now.
  bool has_ordered(time_point when) const {
    return phase_ >= phase::stopping
           && (when == time_point{} || when >= stop_.ordered_at());
  }

  /// Whether this end was. That of a worker that was ending already was not, nor
  /// one by a signal that was not ours.
  bool has_ordered(const worker_exited& x) const {
    return has_ordered(x.when) && !x.was_ending && !x.is_foreign;
  }

  /// Whether the details of another failure would be reported, or decide what is.
  /// If not, it is only counted.
  bool lists_more() const {
    return phase_ <= phase::running || failures_.has_room();
  }

  /// Whether a worker that is being stopped may have failed before, which its error
  /// file says. A group that is stopped for no failure of its own asks for none.
  bool looks_back() const {
    return phase_ == phase::stopping && failures_.has_reported();
  }

  /// Whether workers that are being stopped still have time.
  bool has_grace() const { return orders_.is_armed(alarm::grace); }

  /// Whether what this timer does now depends on which workers have ended.
  bool counts_ends(timer_id x) const;

private:
  using alarm = group_orders::alarm;
  using state = worker_record::state;

  void on(const start_ordered& event);
  void on(const workers_prepared& event);
  void on(const worker_started& event);
  void on(const worker_not_started& event);
  void on(const worker_exited& event);
  void on(const worker_greeted& event);
  void on(const worker_parked& event);
  void on(const worker_spared& event);
  void on(const worker_hung_up& event);
  void on(const worker_stepped& event);
  void on(const worker_held& event);
  void on(const worker_reached& event);
  void on(const safe_point_order& event);
  void on(const stop_ordered& event);
  void on(const kill_ordered& event);
  void on(const timer_fired& event);
  void on(const worker_overran& event);
  void on(const worker_probed& event);

  // what follows, whatever the event was
  void advance();
  void conclude();

  bool can_park(uint32_t number) const;
  void give_up(const worker_table::numbers& who);
  void fail(worker_failure failure, time_point when);
  void fail_exited(const worker_exited& event);
  void report_first(worker_failure failure);

  generation_plan plan_;
  std::string host_;
  std::chrono::milliseconds start_timeout_;
  phase phase_ = phase::idle;
  worker_table workers_;
  group_start start_;
  group_stop stop_;
  step_hold hold_;               ///< While it runs.
  std::optional<uint64_t> step_; ///< The highest that a worker has passed.
  overdue_workers overdue_;
  failure_ledger failures_;
  group_orders orders_;
};

} // namespace actorrun::core
