// The agent's own side of the protocol: finds the coordinator, joins, keeps
// its lease, obeys epochs, and stops its workers when it may not go on.
#pragma once

#include "actors/core/epoch.hpp"
#include "actors/core/time.hpp"
#include "messages/result.hpp"

#include <array>
#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

// -- events: what has happened ------------------------------------------------

/// The agent runs; it looks for the coordinator.
struct agent_started {};

/// A link to the coordinator is up.
struct coordinator_found {};

/// An attempt to reach it has failed.
struct coordinator_not_found {
  failure why;
  time_point tried; ///< When the attempt began.
};

/// The link broke.
struct coordinator_disconnected {};

struct join_accepted {
  duration keep_alive_interval{0}; ///< 0: no lease, we share its process.
  duration fence{0};
};

struct join_rejected {
  failure why;
};

struct lease_granted {
  time_point sent; ///< When the keep-alive that it answers was sent.
};

struct epoch_formed {
  epoch_plan plan;
};

struct epoch_revoked {
  epoch_id epoch;
};

struct job_ended {
  outcome result;
};

struct group_started {
  epoch_id epoch;
  std::vector<int64_t> pids{}; ///< By local rank.
};

struct group_failed {
  epoch_id epoch;
  worker_failure failure;
  time_point told{}; ///< When its age was right; 0: now.
};

struct group_succeeded {
  epoch_id epoch;
};

struct group_stopped {
  epoch_id epoch;
  uint16_t master_port = 0; ///< A fresh one for the next epoch; 0: as before.
  /// What else failed and was not ordered.
  collateral others{};
  time_point told{}; ///< When their ages were right; 0: now.
  /// Workers that SIGKILL has not ended. What they hold of the machine is lost;
  /// so the agent leaves.
  uint32_t unkillable_count = 0;
};

/// Somebody wants this agent to end; again: at once.
struct leave_requested {
  int signal = 0;
};

using membership_event
  = std::variant<agent_started, coordinator_found, coordinator_not_found,
                 coordinator_disconnected, join_accepted, join_rejected,
                 lease_granted, epoch_formed, epoch_revoked, job_ended,
                 group_started, group_failed, group_succeeded, group_stopped,
                 leave_requested, timer_fired>;

// -- effects: what the owner must do, in order --------------------------------

/// Try once to reach the coordinator.
struct seek_coordinator {};

/// Cut the link, if there is one.
struct drop_link {};

struct send_join {
  offer offering;
  std::optional<claim> held;
};

struct send_keep_alive {
  time_point sent;
};

struct send_started {
  epoch_id epoch;
  std::vector<int64_t> pids{};
};

struct send_failed {
  epoch_id epoch;
  worker_failure failure;
};

struct send_succeeded {
  epoch_id epoch;
};

struct send_stopped {
  epoch_id epoch;
  uint16_t master_port = 0;
  /// What failed there and has not been sent as failed. Said as often as that
  /// the epoch's workers have stopped.
  collateral others{};
  uint32_t unkillable_count = 0; ///< As told, and said as often.
};

struct send_leaving {
  int signal = 0;
};

struct send_left {};

struct start_group {
  epoch_plan plan;
};

/// Stop signal, grace period, SIGKILL.
struct stop_group {
  epoch_id epoch;
  int signal = 0; ///< 0: the job's stop signal.
  /// None: the job's grace period.
  std::optional<std::chrono::milliseconds> grace{};
};

struct kill_group {
  epoch_id epoch;
};

/// Workers may not outlive `due`, even if this agent hangs by then.
struct set_fence {
  time_point due; ///< `time_point::max()`: no limit.
};

/// Why the agent ends.
struct ending {
  std::optional<outcome> result; ///< The job's, if it is known.
  /// Or what went wrong; both, if workers of this agent cannot be killed …
  std::optional<failure> why;
  int signal = 0; ///< … or what it was told to leave by.

  friend bool operator==(const ending&, const ending&) = default;
};

struct finish {
  ending how;
};

using membership_effect
  = std::variant<arm_timer, seek_coordinator, drop_link, send_join,
                 send_keep_alive, send_started, send_failed, send_succeeded,
                 send_stopped, send_leaving, send_left, start_group, stop_group,
                 kill_group, set_fence, finish>;

/// One line per effect: `start_group 3`.
std::string to_string(const membership_effect& x);

// -- state --------------------------------------------------------------------

///            link up            accepted
///  seeking ----------> joining ----------> joined
///     ^                   |                  |
///     +--- link down, no answer, fence ------+
///
/// and, independent of the link, the share of the newest epoch:
///
///  idle -> starting -> running -> succeeded
///   ^          |          |  \       |  newer epoch: starting
///   |          +----------+-> failed |
///   |               revoked, fenced  |
///   +------------- stopping <--------+
///
/// The agent's fence runs from the *sending* of the last keep-alive that was
/// answered, the coordinator's lease from hearing it and longer; so our workers
/// are dead before anybody may take their place.
class membership {
public:
  enum class link { seeking, joining, joined, parting, finished };

  membership(offer offering, timeouts limits);

  /// Applies one event and returns its effects. Deterministic.
  /// @param now Read once by the caller; never decreases between calls.
  std::vector<membership_effect> step(const membership_event& event,
                                      time_point now);

  link current_link() const { return link_; }
  share_state share() const { return share_; }

  /// The plan of the epoch it has, or last had.
  const std::optional<epoch_plan>& plan() const { return plan_; }

  const offer& offering() const { return offer_; }

  /// The address is known only when the first link is up.
  void announce_address(std::string address) {
    offer_.address = std::move(address);
  }

  /// So is the port, where it is reserved at that address.
  void announce_port(uint16_t port) { offer_.master_port = port; }

private:
  using effects = std::vector<membership_effect>;

  enum alarm : size_t {
    retry_alarm,
    seek_alarm,
    timeout_alarm,
    keep_alive_alarm,
    fence_alarm,
    parting_alarm,
    alarm_count,
  };

  // membership_link.cpp
  void on(const agent_started& event, time_point now, effects& out);
  void on(const coordinator_found& event, time_point now, effects& out);
  void on(const coordinator_not_found& event, time_point now, effects& out);
  void on(const coordinator_disconnected& event, time_point now, effects& out);
  void on(const join_accepted& event, time_point now, effects& out);
  void on(const join_rejected& event, time_point now, effects& out);
  void on(const lease_granted& event, time_point now, effects& out);
  void on(const timer_fired& event, time_point now, effects& out);
  void seek(time_point now, effects& out);
  void give_up(time_point now, effects& out);
  void on_fence(time_point now, effects& out);
  void extend_fence(time_point due, time_point now, effects& out);
  duration retry_delay();

  // membership.cpp
  void on(const epoch_formed& event, time_point now, effects& out);
  void on(const epoch_revoked& event, time_point now, effects& out);
  void on(const job_ended& event, time_point now, effects& out);
  void on(const group_started& event, time_point now, effects& out);
  void on(const group_failed& event, time_point now, effects& out);
  void on(const group_succeeded& event, time_point now, effects& out);
  void on(const group_stopped& event, time_point now, effects& out);
  void on(const leave_requested& event, time_point now, effects& out);
  void begin(const epoch_plan& plan, effects& out);
  void stop(int signal, effects& out);
  void end(ending how, int signal, time_point now, effects& out);
  void part(time_point now, effects& out);
  void give_up_workers(uint32_t count);
  void note(collateral failures, time_point told, time_point now);
  bool was_fenced(const worker_failure& failure, time_point now) const;
  void tell_stopped(uint16_t master_port, time_point now, effects& out) const;
  void forget_next();
  std::optional<claim> held(time_point now) const;
  /// What we say goes behind our join, and is heard after it.
  bool connected() const {
    return link_ == link::joining || link_ == link::joined;
  }

  bool holds(epoch_id epoch) const { return plan_ && plan_->epoch == epoch; }
  /// Workers of ours may be running.
  bool may_run() const;
  void arm(alarm which, time_point due, effects& out);
  void disarm(alarm which) { alarms_[which] = {}; }

  offer offer_;
  timeouts limits_;
  link link_ = link::seeking;
  share_state share_ = share_state::idle;
  std::optional<epoch_plan> plan_;
  std::optional<worker_failure> failure_; ///< As told at `told_`, like …
  collateral others_;                     ///< … what else was not ordered.
  time_point told_{};
  bool gone_ = false;             ///< The workers of a failed share have ended.
  uint32_t unkillable_count_ = 0; ///< Or will never end.
  bool was_in_ = false;           ///< Has been accepted at least once.
  epoch_id newest_; ///< Newest epoch seen; older ones are refused.
  /// Starts when the present group is gone and the lease is known to last.
  std::optional<epoch_plan> next_;
  duration keep_alive_interval_{0};
  duration fence_{0};
  time_point join_sent_{};
  time_point heard_{}; ///< When the coordinator last said that we are in.
  time_point fence_due_ = time_point::max();
  std::optional<failure> last_failure_;
  uint32_t attempts_ = 0;
  std::optional<ending> ending_;
  std::array<timer_id, alarm_count> alarms_;
  timer_id last_timer_;
};

std::string to_string(membership::link x);

} // namespace actorrun::core
