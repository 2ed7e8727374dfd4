// Finds the coordinator for an agent, keeps its lease, and decides what its
// workers do.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/protocol/alarm_set.hpp"
#include "actors/core/protocol/generation_share.hpp"
#include "actors/core/protocol/membership_events.hpp"
#include "actors/core/time.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::core {

/// Runs the agent's side of the protocol (docs/protocol.md).
///
///            link up            accepted            last word sent
///  seeking ----------> joining ----------> joined -----------------> parting
///     ^                   |                  |                          |
///     +--- link down, no answer, fence ------+       cut by the other side
///                                                                       v
///                                                                   finished
///
/// There is one link at a time: the handle of a coordinator looks alike on all
/// links to it. The next is sought when the last is known to be gone.
///
/// The share of the newest generation (`generation_share`) does not depend on the
/// link.
///
/// A link that does not answer may be a network that is cut, or one that works
/// again while TCP waits ever longer before it repeats what was lost, or forgets
/// flows. So before the fence falls a second connection is tried. If the
/// coordinator answers there, the link is given up for it.
///
/// A keep-alive is sent when supervisor and process host have answered, and not
/// otherwise: the lease proves that the workers can be ended. One at a time is
/// unanswered: where only the way to this node is cut, each further one would
/// lengthen the lease and not the fence (decision 0025).
///
/// The agent's fence runs from the *sending* of the last keep-alive that was
/// answered. The coordinator's lease runs from receiving it, and longer. So the
/// workers here are dead before others can take their place.
///
/// Workers that are parked belong to no generation: neither the fence nor a newer
/// generation concerns them. They go on with the next generation that has a place
/// for this agent, and end when it leaves.
///
/// Workers that are started ahead of their first generation are the same from the
/// beginning: as if they had been ordered to park. They end if the link does, since
/// no other coordinator knows of them.
///
/// An agent that is drained gives its workers notice, unless all workers of the job
/// are about to come to a safe point. From the notice on the end of a worker is no
/// failure, however it ends. The agent leaves when its workers have
/// ended, when one of them has ended otherwise than with 0, or when their time is
/// over.
class membership {
public:
  enum class link { seeking, joining, joined, parting, finished };

  membership(offer offering, timeouts limits);

  /// Workers that run have said how far they are.
  bool has_safe_points() const;

  /// Whether the workers of this node run, and are not being started or stopped.
  bool has_running_workers() const {
    return share_.state() == share_state::running;
  }

  /// Applies one event and returns its effects. Deterministic.
  /// @param now Read once by the caller; never decreases between calls.
  std::vector<membership_effect> step(const membership_event& event,
                                      time_point now);

  link current_link() const { return link_; }

  /// Since when it has no coordinator, and when it gives up; none: it has one, or
  /// has given up.
  struct search {
    time_point since{};
    time_point until{};
  };
  std::optional<search> current_search() const;
  share_state share() const { return share_.state(); }

  /// Whether a coordinator has accepted it, at least once.
  bool was_accepted() const { return was_accepted_; }

  /// The plan of the generation it has, or last had.
  const std::optional<generation_plan>& plan() const { return share_.plan(); }

  const offer& offering() const { return offer_; }

  /// The address is known only when the first link is up.
  void announce_address(std::string address) {
    offer_.address = std::move(address);
  }

  /// So is the port, which is reserved at that address.
  void announce_port(uint16_t port) { offer_.master_port = port; }

private:
  using effects = std::vector<membership_effect>;

  enum class alarm {
    retry,
    seek,
    timeout,
    keep_alive,
    fence,
    parting,
    drain,
    second_way,
  };

  static constexpr size_t alarm_count = size_t(alarm::second_way) + 1;

  // looking for the coordinator
  void on(const agent_started& event, time_point now, effects& out);
  void on(const coordinator_found& event, time_point now, effects& out);
  void on(const coordinator_not_found& event, time_point now, effects& out);
  void on(const coordinator_disconnected& event, time_point now, effects& out);
  void seek(time_point now, effects& out);
  void try_again(effects& out);
  void drop(effects& out);
  void on(const second_way_found& event, time_point now, effects& out);
  void try_second_way_if_silent(time_point now, effects& out);
  void begin_second_way(effects& out);
  void forget_second_way(effects& out);
  void give_up(time_point now, effects& out);
  duration retry_delay();

  // the lease
  void on(const join_accepted& event, time_point now, effects& out);
  void on(const join_rejected& event, time_point now, effects& out);
  void check_control(time_point now, effects& out);
  duration repeat_after() const;
  void on_keep_alive_due(time_point now, effects& out);
  void on(const control_checked& event, time_point now, effects& out);
  void on(const lease_granted& event, time_point now, effects& out);
  void on(const fence_fired& event, time_point now, effects& out);
  void on_fence(time_point now, effects& out);
  void extend_fence(time_point due, time_point now, effects& out);
  bool was_fenced(const worker_failure& failure, time_point now) const;

  // generations
  void on(const generation_formed& event, time_point now, effects& out);
  void on(const charter_changed& event, time_point now, effects& out);
  void keep(const charter& told);
  void on(const generation_revoked& event, time_point now, effects& out);
  void on(const safe_point_ordered& event, time_point now, effects& out);
  void on(const start_ahead_ordered& event, time_point now, effects& out);
  void begin(const generation_plan& plan, effects& out);
  void stop(int signal, effects& out);
  void stop_for_next(const std::string& reason, effects& out);
  void forget_next();

  // what the worker group reports
  void on(const group_started& event, time_point now, effects& out);
  void on(const group_failed& event, time_point now, effects& out);
  void on(const group_succeeded& event, time_point now, effects& out);
  void on(const group_stopped& event, time_point now, effects& out);
  void on(const group_parked& event, time_point now, effects& out);
  void on(const group_safe_point& event, time_point now, effects& out);
  void add_failures(collateral failures, time_point aged_at, time_point now);
  void report_stopped(uint16_t master_port, time_point now, effects& out) const;

  // the end
  void on(const job_ended& event, time_point now, effects& out);
  void on(const leave_requested& event, time_point now, effects& out);
  void on(const drain_ordered& event, time_point now, effects& out);
  void on(const limit_near& event, time_point now, effects& out);
  void want_safe_point(time_point now, effects& out) const;
  void give_notice(time_point now, effects& out);
  void say_leaving(effects& out);
  void leave_drained(time_point now, effects& out);
  bool was_noticed(const worker_failure& failure, time_point now) const;
  void give_up_workers(uint32_t count);
  void end(ending how, int signal, time_point now, effects& out);
  void part(time_point now, effects& out);

  void on(const timer_fired& event, time_point now, effects& out);

  /// False when the agent can leave.
  bool has_workers() const {
    return share_.may_run() || !parked_.local_ranks.empty();
  }

  /// Messages that are sent while joining arrive after the join request.
  bool is_connected() const {
    return link_ == link::joining || link_ == link::joined;
  }

  void arm(alarm which, time_point due, effects& out) {
    out.emplace_back(alarms_.arm(which, due));
  }

  offer offer_;
  timeouts limits_;
  alarm_set<alarm, alarm_count> alarms_;

  link link_ = link::seeking;
  bool is_remote_ = false; ///< The last coordinator's process is another.
  bool is_dropping_
    = false; ///< That link is dropped, and not known to be gone.
  bool is_retry_due_ = false;   ///< And the next attempt waits for that.
  bool has_second_way_ = false; ///< It is being tried.
  bool was_accepted_ = false;
  time_point join_sent_{};
  time_point accepted_at_{}; ///< When the coordinator last confirmed the lease.
  duration keep_alive_interval_{0};
  time_point keep_alive_due_{};             ///< The next one.
  std::optional<time_point> control_asked_; ///< And not answered yet.
  std::optional<time_point> unanswered_;    ///< When that keep-alive was sent.
  bool is_overdue_ = false; ///< The next one waits for the answer.
  duration fence_{0};       ///< From a keep-alive that was answered.
  time_point fence_due_ = time_point::max();
  generation_id fenced_; ///< The last whose workers were killed by the fence.
  std::optional<failure> last_failure_; ///< To find the coordinator.
  uint32_t attempts_ = 0;

  generation_share share_;
  parked_share parked_; ///< While `share_` runs nothing.
  bool is_parking_
    = false; ///< The workers have been ordered to stop, or to park.
  /// What the workers of the present generation have answered last. A coordinator
  /// that does not know may have to let them go on.
  std::optional<safe_point_report> safe_point_;
  std::optional<time_point> limit_; ///< Before it the workers are to save.
  generation_id newest_; ///< Newest generation seen; older ones are refused.
  /// What the job's coordinators have said of it, for the next of them.
  std::optional<charter> job_;
  /// Begins when the workers of the present generation are gone and the lease is
  /// known to last.
  std::optional<generation_plan> next_;
  uint32_t unkillable_count_ = 0;
  bool is_draining_ = false;
  bool gives_notice_ = false;            ///< Then, to workers that run.
  std::optional<time_point> noticed_at_; ///< The workers know of it.
  std::optional<ending> ending_;         ///< Set from the decision to end.
  bool is_asked_to_leave_ = false;       ///< By a signal here.
};

std::string to_string(membership::link x);

} // namespace actorrun::core
