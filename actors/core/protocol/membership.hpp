// Finds the coordinator for an agent, keeps its lease, and decides what its
// workers do.
#pragma once

#include "actors/core/alarm_set.hpp"
#include "actors/core/generation.hpp"
#include "actors/core/protocol/agent_lease.hpp"
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
/// otherwise: the lease proves that the workers can be ended.
///
/// The agent's fence (`agent_lease`) runs from the *sending* of the last keep-alive
/// that was answered. The coordinator's lease runs from receiving it, and longer. So
/// the workers here are dead before others can take their place.
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

  /// A link that was given up, as long as it is not known to be gone.
  enum class dropped_link {
    none,
    ends,
    awaited, ///< The next attempt waits for its end.
  };

  struct drain {
    bool gives_notice = false;              ///< To workers that run.
    std::optional<time_point> noticed_at{}; ///< They know of it.
  };

  // looking for the coordinator
  void on(const agent_started& event);
  void on(const coordinator_found& event);
  void on(const coordinator_not_found& event);
  void on(const coordinator_disconnected& event);
  void seek();
  void try_again();
  void drop();
  void on(const second_way_found& event);
  void try_second_way_if_silent();
  void begin_second_way();
  void forget_second_way();
  void give_up();
  duration retry_delay();

  // the lease
  void on(const join_accepted& event);
  void on(const join_rejected& event);
  void check_control();
  void on_keep_alive_due();
  void on(const control_checked& event);
  void on(const lease_granted& event);
  void on(const fence_fired& event);
  void on_fence();
  void extend_fence(time_point due);
  bool was_fenced(const worker_failure& failure) const;

  // generations
  void on(const generation_formed& event);
  void on(const charter_changed& event);
  void keep(const charter& told);
  void on(const generation_revoked& event);
  void on(const safe_point_ordered& event);
  void on(const start_ahead_ordered& event);
  void begin(const generation_plan& plan);
  void stop(int signal);
  void stop_for_next(const std::string& reason);
  void forget_next();

  // what the worker group reports
  void on(const group_started& event);
  void on(const group_failed& event);
  void on(const group_succeeded& event);
  void on(const group_stopped& event);
  void on(const group_parked& event);
  void on(const group_safe_point& event);
  void add_failures(collateral failures, time_point aged_at);
  void report_stopped(uint16_t master_port);

  // the end
  void on(const job_ended& event);
  void on(const leave_requested& event);
  void on(const drain_ordered& event);
  void on(const limit_near& event);
  void want_safe_point();
  void give_notice();
  void say_leaving();
  void leave_drained();
  bool was_noticed(const worker_failure& failure) const;
  void give_up_workers(uint32_t count);
  void end(ending how, int signal);
  void part();

  void on(const timer_fired& event);

  /// False when the agent can leave.
  bool has_workers() const { return share_.may_run() || !parked_.is_empty(); }

  /// Messages that are sent while joining arrive after the join request.
  bool is_connected() const {
    return link_ == link::joining || link_ == link::joined;
  }

  void arm(alarm which, time_point due) {
    out_.emplace_back(alarms_.arm(which, due));
  }

  offer offer_;
  timeouts limits_;
  alarm_set<alarm, alarm_count> alarms_;

  link link_ = link::seeking;
  bool is_remote_ = false; ///< The last coordinator's process is another.
  dropped_link dropped_ = dropped_link::none;
  bool has_second_way_ = false; ///< It is being tried.
  bool was_accepted_ = false;
  agent_lease lease_;
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
  std::optional<drain> drain_;     ///< It has been ordered.
  std::optional<ending> ending_;   ///< Set from the decision to end.
  bool is_asked_to_leave_ = false; ///< By a signal here.
  // Of the step that is taken.
  time_point now_{};
  effects out_;
};

std::string to_string(membership::link x);

} // namespace actorrun::core
