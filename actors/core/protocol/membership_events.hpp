// Lists what an agent's membership is notified of, and what it orders.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/protocol/charter.hpp"
#include "actors/core/safe_point.hpp"
#include "actors/core/time.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::core {

// -- events: what has happened ------------------------------------------------

/// The agent runs and looks for the coordinator.
struct agent_started {};

/// A link to the coordinator is up.
struct coordinator_found {
  /// To another process: after `drop_link` it is gone when
  /// `coordinator_disconnected` says so.
  bool is_remote = false;
};

/// An attempt to reach the coordinator has failed.
struct coordinator_not_found {
  failure why;
  time_point tried; ///< When the attempt began.
};

/// The link broke, or is gone after it was dropped.
struct coordinator_disconnected {};

/// The coordinator has answered on a second connection: the next `seek_coordinator`
/// finds it there.
struct second_way_found {};

struct join_accepted {
  duration keep_alive_interval{0}; ///< 0: no lease, it is in this process.
  duration fence{0};
  charter job{};
  duration age{0}; ///< As in `lease_granted`.
};

struct join_rejected {
  failure why;
};

/// What starts and ends the workers has answered a `check_control`.
struct control_checked {
  time_point asked;
};

struct lease_granted {
  time_point sent; ///< When the answered keep-alive was sent.
  /// How long ago it was confirmed that whoever answers leads: another one may
  /// have been elected since then.
  duration age{0};
};

/// Workers were killed by the fence before the next one was set: this process was
/// stopped between the two.
struct fence_fired {
  generation_id generation;
  time_point due; ///< When it was to fire.
};

struct generation_formed {
  generation_plan plan;
  charter job{};
};

/// What is the job's has changed.
struct charter_changed {
  charter job;
};

struct generation_revoked {
  generation_id generation;
  /// Workers of a newer generation may run already: there is no grace period.
  bool is_over = false;
  std::string reason{}; ///< For workers that live through it; one line.
};

struct job_ended {
  outcome result;
};

struct group_started {
  generation_id generation;
  std::vector<int64_t> pids{}; ///< By local rank.
};

struct group_failed {
  generation_id generation;
  worker_failure failure;
  time_point aged_at{}; ///< When the failure's age was right; 0: now.
};

struct group_succeeded {
  generation_id generation;
};

struct group_stopped {
  generation_id generation;
  uint16_t master_port
    = 0; ///< A fresh one for the next generation; 0: as before.
  /// Other workers that failed before they were ordered to stop.
  collateral others{};
  time_point aged_at{}; ///< When their ages were right; 0: now.
  /// Workers that SIGKILL has not ended. What they hold of the machine is lost,
  /// so the agent leaves.
  uint32_t unkillable_count = 0;
  parked_share parked{};
  /// The highest at which one of them has passed a safe point; none: none has.
  std::optional<uint64_t> step{};
};

/// Workers that were parked have ended.
struct group_parked {
  generation_id generation;
  parked_share parked; ///< What is left.
};

/// How far the workers are on the way to a safe point.
struct group_safe_point {
  generation_id generation;
  safe_point_report report;
};

/// Workers are to come to a safe point, before a change that can wait.
struct safe_point_ordered {
  generation_id generation;
  safe_point_order order;
};

/// The workers are to start before there is a generation for them, and to wait for it.
struct start_ahead_ordered {
  generation_id generation; ///< That others run.
  uint32_t restart_count = 0;
};

/// This agent is asked to end; a second request: at once.
struct leave_requested {
  int signal = 0;
};

/// This agent is to leave when its workers have had some time. Only the first order
/// has an effect.
struct drain_ordered {
  duration time{0};
  /// The generation ends there before that: its workers need no notice.
  bool at_safe_point = false;
  /// It does not leave: a machine goes without which the job ends, and the workers
  /// are to save before.
  bool stays = false;
};

/// This machine is about to go. Only the first notice has an effect.
struct notice_received {
  /// Of whoever has said so; one line, at most `notice_words_max`. May be empty.
  std::string words{};
};

/// A time limit will end the job: workers with safe points save at one, the others
/// get the notice signal.
struct limit_near {
  duration left{0};
};

using membership_event
  = std::variant<agent_started, coordinator_found, coordinator_not_found,
                 coordinator_disconnected, second_way_found, join_accepted,
                 join_rejected, control_checked, lease_granted, fence_fired,
                 generation_formed, charter_changed, generation_revoked,
                 job_ended, group_started, group_failed, group_succeeded,
                 group_stopped, group_parked, group_safe_point,
                 safe_point_ordered, start_ahead_ordered, leave_requested,
                 drain_ordered, notice_received, limit_near, timer_fired>;

// -- effects: what the owner must do, in order --------------------------------

/// Make one attempt to reach the coordinator.
struct seek_coordinator {};

/// Cut the link, if there is one.
struct drop_link {};

/// Connect to the coordinator a second time, beside the link, which does not
/// answer: until `second_way_found`, or until the link is sought anew or this is
/// called off.
struct try_second_way {};

/// The link answers again.
struct forget_second_way {};

struct send_join {
  offer offering;
  std::optional<claim> held;
  /// What it knows of the job; none: no coordinator has accepted it.
  std::optional<charter> told{};
};

/// Have all parts that a stop of workers takes answer with `control_checked`: a
/// lease must not be kept for workers that nothing can end.
struct check_control {
  time_point asked;
};

/// The same `sent` once more: it may have been lost, and what follows a lost packet
/// has that sent again at once. It lengthens no lease.
struct send_keep_alive {
  time_point sent;
};

struct send_started {
  generation_id generation;
  std::vector<int64_t> pids{};
};

struct send_failed {
  generation_id generation;
  worker_failure failure;
};

struct send_succeeded {
  generation_id generation;
};

struct send_stopped {
  generation_id generation;
  uint16_t master_port = 0;
  /// Failures that `send_failed` has not reported. Repeated whenever this
  /// message is repeated.
  collateral others{};
  uint32_t unkillable_count = 0;
  parked_share parked{};
  std::optional<uint64_t> step{}; ///< As in `group_stopped`.
};

struct send_safe_point {
  generation_id generation;
  safe_point_report report;
};

struct send_leaving {
  int signal = 0;
};

struct send_left {};

/// Have the coordinator let this agent leave.
struct send_notice {
  std::string words{};
};

struct start_group {
  generation_plan plan;
};

/// Stop signal, grace period, SIGKILL.
struct stop_group {
  generation_id generation;
  int signal = 0; ///< 0: the job's stop signal.
  /// None: the job's grace period.
  std::optional<std::chrono::milliseconds> grace{};
  bool may_park = false; ///< Live workers need not end.
  std::string reason{};  ///< For them.
};

struct kill_group {
  generation_id generation;
  bool is_fenced = false;   ///< The coordinator does not answer.
  bool with_parked = false; ///< No worker is wanted any more.
};

/// Pass it on to the group.
struct order_safe_point {
  generation_id generation;
  safe_point_order order;
};

/// Send the workers the notice signal: the node will leave.
struct notify_workers {
  generation_id generation;
};

/// Have the workers killed at `due`, even if this agent hangs by then.
struct set_fence {
  time_point due; ///< `time_point::max()`: no limit.
  /// That the last fence was for, and this one goes on; 0: none. If that has fired,
  /// `fence_fired` follows.
  generation_id running{};
};

struct finish {
  ending how;
};

using membership_effect
  = std::variant<arm_timer, seek_coordinator, drop_link, try_second_way,
                 forget_second_way, send_join, check_control, send_keep_alive,
                 send_started, send_failed, send_succeeded, send_stopped,
                 send_safe_point, send_leaving, send_left, send_notice,
                 start_group, stop_group, kill_group, order_safe_point,
                 notify_workers, set_fence, finish>;

/// One line per effect: `start_group 3`.
std::string to_string(const membership_effect& x);

} // namespace actorrun::core
