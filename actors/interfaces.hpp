// Lists every actor interface but those that host programs see (job_observer.hpp,
// timer_interface.hpp), with one comment per message. Types of
// actorrun::v1 may cross the wire; all others stay in the process.
#pragma once

#include "actors/core/checks/node_checks.hpp"
#include "actors/core/devices/status.hpp"
#include "actors/core/journal/record.hpp"
#include "actors/core/logs/log_selection.hpp"
#include "actors/core/logs/tail_streams.hpp"
#include "actors/core/protocol/membership_events.hpp"
#include "actors/core/protocol/output_gate.hpp"
#include "actors/core/protocol/rendezvous_events.hpp"
#include "actors/core/reports/worker_stack.hpp"
#include "actors/core/succession/voter_set.hpp"
#include "actors/core/vitals/node_vitals.hpp"
#include "actors/job_observer.hpp"
#include "actors/ports/coordinator_locator.hpp"
#include "actors/ports/process_host.hpp"
#include "actors/ports/worker_control.hpp"
#include "actors/status_pages.hpp"
#include "actors/timer_interface.hpp"
#include "messages/type_ids.hpp"

#include "messages/operator.pb.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun {

// -- local messages -----------------------------------------------------------

/// Pass on a signal to the workers, without ending anything.
struct notify_group {
  int signal = 0;
};

/// Start the workers of a generation, unless the fence fires before they run,
/// however long this message and its preparations take.
struct fenced_start {
  core::generation_plan plan;
  ports::fence_token decided; ///< Taken when the agent decided to start.
  std::string reason{};       ///< Why there is a new generation; one line.
};

/// What the node agent orders its worker supervisor to do.
using group_order
  = std::variant<fenced_start, core::stop_group, core::kill_group, notify_group,
                 core::order_safe_point, core::check_control>;

/// Live workers have gone past safe points: not of each, but soon after the first.
struct workers_stepped {
  generation_id generation;
};

/// What the worker supervisor tells the owner of its group.
using group_event = std::variant<core::group_started, core::group_failed,
                                 core::group_succeeded, core::group_stopped,
                                 core::group_parked, core::group_safe_point,
                                 core::control_checked, workers_stepped>;

/// What the process host reports to the worker supervisor, in order.
using process_report = std::vector<ports::process_event>;

/// The folders of a generation were made, or cannot be.
struct outputs_prepared {
  generation_id generation;
  result<core::generation_outputs> outputs = core::generation_outputs{};
};

/// A death was examined, or that took too long.
struct death_examined {
  uint64_t number = 0; ///< The supervisor's own for the examination.
  std::optional<core::death_details> details{};
};

/// The job hangs: this worker is to be ended, and has failed.
struct worker_hangs {
  generation_id generation;
  uint32_t local_rank = 0;
  core::duration silent_for{0}; ///< All workers of the job.
  core::duration limit{0};
  std::string where; ///< Where they are: a few printable lines.
};

/// The grace period of a generation's stop has passed.
struct grace_expired {
  generation_id generation;
  core::timer_fired event;
};

/// A stop goes on for a while.
struct stop_lasts {
  generation_id generation;
  core::time_point until; ///< Of the grace period.
};

/// Where an overdue worker and its peers were.
struct overrun_probed {
  generation_id generation;
  uint32_t local_rank = 0; ///< The overdue worker's.
  std::string where;       ///< A few printable lines.
};

/// The workers of a generation are about to write to these files.
struct follow_generation {
  core::generation_plan plan;
  core::generation_outputs outputs;
  /// These workers go on with the files of an older generation: by local rank, the
  /// one that each had there …
  std::map<uint32_t, uint32_t> continued{};
  generation_id last{}; ///< … which were followed as this one's.
};

/// A worker has ended: show what it has written.
struct drain_worker {
  generation_id generation;
  uint32_t local_rank = 0;
};

/// Its output is on the console, or waits for a console that is not read.
struct worker_drained {
  generation_id generation;
  uint32_t local_rank = 0;
};

/// No process can write to the files of the generation any more.
struct close_generation {
  generation_id generation;
  std::vector<uint32_t> spared{}; ///< Local ranks that write on.
};

/// The fence leaves this worker of the generation alone from now on.
struct process_spared {
  generation_id generation;
  uint32_t local_rank = 0;
};

/// These workers may go on with the generation.
struct workers_resumed {
  generation_id generation;
  std::vector<uint32_t> local_ranks;
};

/// Answer when all output of closed generations has been shown.
struct flush_logs {};

struct logs_flushed {};

/// A followed file may have grown.
struct log_file_grown {
  uint64_t stream = 0; ///< The log tailer's own number for it.
};

/// The console takes more of these lines.
struct console_ready {
  core::tail_kind which = core::tail_kind::out;
};

/// There is more to show than fits into one turn.
struct tail_goes_on {};

/// It is time to look again; only the newest counts.
struct tail_timer_fired {
  uint64_t number = 0;
};

/// End a group that `start_processes` has started, or end it sooner.
struct close_group {
  int signal = 0;
  std::chrono::milliseconds timeout{0}; ///< Until SIGKILL; 0: at once.
};

/// The time-out of a `close_group` has passed.
struct close_expired {};

/// The device monitor reports the node's devices.
struct devices_report {
  core::devices_status status;
  /// What has happened to one of them, for the log; empty: this is an answer.
  std::string event;
};

/// What an operator asks. Its number is the operator's and needs no copy in the
/// reply.
struct operator_question {
  v1::OperatorRequest what;
  /// Takes the answer, once, on any thread; never blocks. Nothing happens when
  /// the operator is gone. A `ReadLogs` is answered at once and again and again,
  /// until a reply is a refusal or has `is_end`; when the operator is gone before
  /// that, an `AddLogCredit` of 0 says so.
  std::function<void(v1::OperatorReply)> reply;
  std::string by{};       ///< Who asks; one printable line.
  bool may_steer = false; ///< It may change what the job does.
  /// Names the operator's link in this process; its requests belong together.
  uint64_t session = 0;
  /// Takes a status in place of `reply`: the same for all that ask. Null: `reply`
  /// gets a copy.
  std::function<void(shared_status)> show{};
};

/// What a coordinator knows of the agents that may elect the next one.
struct electors_answer {
  /// None: its agents are still coming back.
  std::optional<std::vector<core::voter_candidate>> here{};
  bool has_ended = false; ///< The job: its outcome is decided.
};

/// Asked again and again; the answer shows that the coordinator decides.
struct electors_question {
  std::vector<agent_id> always; ///< Of these each one that is here is told.
  /// Called on any thread; never blocks.
  std::function<void(electors_answer)> reply;
};

/// All agents are to know where to ask for the next coordinator, and people who votes.
struct electors_known {
  core::endpoint_list endpoints; ///< Of voters, and of others that can lead.
  std::vector<agent_id> voters;
  uint64_t term = 0; ///< Of this coordinator.

  friend bool operator==(const electors_known&, const electors_known&)
    = default;
};

/// It may be worth a line that there is still no coordinator.
struct loss_due {};

/// It is time to see whether the workers live; only the newest counts.
struct signs_due {
  uint64_t number = 0;
};

/// It is time to see how long the workers compute; only the newest counts.
struct steps_due {
  uint64_t number = 0;
};

/// What agents have said of the pace of their workers is to be compared.
struct paces_due {};

/// The coordinator's journal goes on.
struct job_recorded {
  std::vector<core::journal::record> records;
};

/// An agent says how its node is doing.
struct node_reported {
  agent_id agent;
  std::optional<core::devices_status> devices{}; ///< None: as before.
  std::optional<core::node_vitals> vitals{};     ///< Likewise.
};

/// The status of the job is wanted.
struct status_wanted {
  /// Names the picture, if that is still known; 0: a new one.
  uint64_t number = 0;
  bool for_watch
    = false; ///< Asks again and again, and need not have the newest.
};

struct status_shown {
  shared_status what; ///< Never null.
};

/// A picture is due.
struct status_awaited {};

/// Nothing is recorded any more.
struct desk_closed {};

/// Lines of workers' log files were read.
struct log_lines_read {
  uint64_t reading = 0; ///< The node agent's own number.
  core::log_chunk chunk;
};

/// No lines are read any more, or that takes too long.
struct logs_drained {};

/// Where some workers were.
struct stacks_seen {
  uint64_t request = 0;                    ///< The node agent's own number.
  std::vector<core::worker_stack> workers; ///< None: that takes too long.
};

/// The timeout of a wait for stacks has passed.
struct stacks_due {
  uint64_t request = 0;
};

/// The node's kernel shows how the node and its workers are doing.
struct vitals_report {
  core::node_vitals now;
};

/// The timeout of a wait for the status of nodes has passed; only the newest
/// counts.
struct status_due {
  uint64_t number = 0;
};

// -- actors -------------------------------------------------------------------

/// The NODE CHECKER finds out whether a node can take part.
using node_checker_actor = interface<
  // Check it before its next generation.
  void(v1::CheckOrder),
  // A command has ended.
  void(core::check_ended),
  // Sent by itself.
  void(core::timer_fired)>;

/// The NODE AGENT takes part in a job with one node's workers.
using node_agent_actor = interface<
  // The offer of this agent was accepted; the interval and fence of its lease.
  void(v1::JoinAccepted),
  // The offer of this agent was refused.
  void(v1::JoinRejected),
  // A keep-alive of this agent has arrived.
  void(v1::LeaseGranted),
  // A new generation has formed: start the workers placed on this agent.
  void(v1::GenerationFormed),
  // The generation is over: stop its workers.
  void(v1::GenerationRevoked),
  // The job has ended: stop the workers, send the last notice, end.
  void(v1::JobEnded),
  // The whole status of the job; from the coordinator, if there is one.
  v1::JobStatus(v1::StatusRequest),
  // An operator asks.
  void(operator_question),
  // The coordinator asks for the status of this node: answer with a NodeStatus.
  void(v1::NodeStatusRequest),
  // The coordinator wants lines of log files: answer with LogChunks.
  void(v1::LogReading),
  // It takes more of them, or no more.
  void(v1::LogCredit),
  // It wants to know where workers are: answer with a StacksReport.
  void(v1::StacksRequest),
  // What was read, and seen.
  void(log_lines_read), void(logs_drained), void(stacks_seen),
  // The status of the devices, or what has happened to one.
  void(devices_report),
  // How the node and its workers are doing.
  void(vitals_report),
  // Sent by itself: some samples are late.
  void(status_due),
  // This node is to leave: give its workers notice.
  void(v1::DrainNotice),
  // The node is to be checked before it takes part again: answer with NodeFitness.
  void(v1::CheckOrder),
  // What checks have found.
  void(core::report_fitness),
  // The job hangs: end this worker.
  void(v1::EndHungWorker),
  // The workers are to come to a safe point: answer with SafePointReports.
  void(v1::SafePointOrder),
  // Start the workers, which wait for their first generation.
  void(v1::StartAhead),
  // An operator has changed what its next coordinator must know.
  void(v1::CharterChanged),
  // Others are to be asked for the coordinator when it does not answer.
  void(v1::VotersChanged),
  // An operator wants other lines in this node's log.
  void(v1::LogLevelOrder),
  // The group of this node has started, failed, succeeded, stopped.
  void(group_event),
  // A person or a system asks this node to leave.
  void(core::leave_requested),
  // A time limit will end the job.
  void(core::limit_near),
  // This machine is about to go.
  void(core::notice_received),
  // No link to the coordinator came up.
  void(core::coordinator_not_found), void(core::second_way_found),
  // Sent by itself: a timer that it has armed; whether a coordinator is back.
  void(core::timer_fired), void(loss_due), void(signs_due), void(steps_due),
  // Pass on a signal to the workers of this node.
  void(notify_group),
  // A link to the coordinator is up.
  void(ports::location),
  // Notify this observer, too, from now on.
  void(job_observer_actor)>;

/// The RENDEZVOUS COORDINATOR decides which agents form the next generation, and
/// how the job ends.
using rendezvous_coordinator_actor = interface<
  // The sender, a node agent, offers its slots to the next generation.
  void(v1::JoinRequest),
  // The agent is alive.
  void(v1::KeepAlive),
  // All workers of the agent's share run.
  void(v1::WorkersStarted),
  // A worker of the agent's share died without an order.
  void(v1::WorkerFailed),
  // All workers of the agent's share have exited with 0.
  void(v1::WorkersSucceeded),
  // No worker of that generation runs on the agent any more.
  void(v1::WorkersStopped),
  // No worker of the agent's share has shown a sign of life, or one has again.
  void(v1::WorkersSilent),
  // How long the workers of the agent's share compute per step.
  void(v1::WorkerPaces),
  // How long the workers of the agent's share have saved, and when.
  void(v1::WorkersSaved),
  // How far the workers of the agent's share are on the way to a safe point.
  void(v1::SafePointReport),
  // What checks of its node have found.
  void(v1::NodeFitness),
  // The agent is about to leave, or has left.
  void(v1::LeaveNotice),
  // The machine of the agent is about to go.
  void(v1::NodeNotice),
  // The status of the job, page by page.
  v1::JobStatus(v1::StatusRequest),
  // An operator asks.
  void(operator_question),
  // The status of the agent's node; asked for, or of its devices only.
  void(v1::NodeStatus),
  // Sent by itself: some agents do not answer; or it is time to compare workers.
  void(status_due), void(stacks_due), void(paces_due),
  // Lines of log files of the agent's node, for an operator.
  void(v1::LogChunk),
  // Where workers of the agent's node are.
  void(v1::StacksReport),
  // The machine of an agent proves that it has ended.
  void(core::agent_lost),
  // The outcome is known wherever the next coordinator looks.
  void(core::outcome_written),
  // An agent of the newest generation that does not come back has ended.
  void(core::member_ended),
  // What was said to be written before it is seen is.
  void(core::charter_written),
  // Who elects the next coordinator wants to know who is here: answers at once.
  void(electors_question),
  // The agents that it has chosen.
  void(electors_known),
  // A person or a system asks the job to end.
  void(core::stop_requested),
  // Sent by itself: a timer that it has armed.
  void(core::timer_fired)>;

/// The STATUS DESK shows the job that a coordinator decides about.
using status_desk_actor = interface<
  // What has happened, in order and without gaps.
  void(job_recorded),
  // How an agent's node is doing.
  void(node_reported),
  // Answers at once or soon.
  status_shown(status_wanted),
  // Sent by itself.
  void(status_awaited),
  // The coordinator has ended: answer what is open, and end.
  void(desk_closed)>;

/// The OWNER of a worker supervisor is notified of its group: a node agent, or a
/// program that starts processes without a job.
using group_owner_actor = interface<
  // The group has started, failed, succeeded, stopped.
  void(group_event)>;

/// The PROCESS OWNER stops a group without a job when one of its workers has
/// failed, or on request.
using process_owner_actor = interface<
  // The group has started, failed, succeeded, stopped.
  void(group_event),
  // The process context closes the group.
  void(close_group),
  // Sent by itself: the timeout has passed.
  void(close_expired)>;

/// The WORKER SUPERVISOR starts, watches and stops the workers of one generation
/// after the other on one node.
using worker_supervisor_actor = interface<
  // Start, stop, kill or signal the group; prove that it can be ended.
  void(group_order),
  // Its folders are there, or cannot be made.
  void(outputs_prepared),
  // What is known of a death.
  void(death_examined),
  // Processes have started, failed to start, or ended.
  void(process_report),
  // The fence does not concern it any more.
  void(process_spared),
  // The fence concerns them again.
  void(workers_resumed),
  // A worker that can live through a change has spoken.
  void(ports::worker_message),
  // The grace period of a group, or of a worker, is over.
  void(grace_expired),
  // Say whom the stop of a group waits for.
  void(stop_lasts),
  // A worker did not release a timer in time: stop it, it has failed.
  void(worker_overrun),
  // The job hangs because of this worker: the same.
  void(worker_hangs),
  // Where that worker was.
  void(overrun_probed)>;

/// The LOG TAILER shows on the console what workers write to files: whole
/// lines, each once, in order.
using log_tailer_actor = interface<
  // Follow these files, too, from now on.
  void(follow_generation),
  // Answers at once or soon; never waits for a console that is not read.
  worker_drained(drain_worker),
  // The files of the generation get no more output.
  void(close_generation),
  // Answers when nothing is left to show, however long that takes.
  logs_flushed(flush_logs),
  // Sent by its ports.
  void(log_file_grown), void(console_ready),
  // Sent by itself.
  void(tail_goes_on), void(tail_timer_fired)>;

} // namespace actorrun

ACTORRUN_BEGIN_LOCAL_TYPES(actorrun_actors, ACTORRUN_FIRST_TYPE_ID + 100)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::group_order)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::notify_group)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::process_report)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::process_spared)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::workers_resumed)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::ports::worker_message)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::outputs_prepared)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::death_examined)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::grace_expired)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::overrun_probed)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::follow_generation)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::drain_worker)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::worker_drained)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::close_generation)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::flush_logs)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::logs_flushed)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::log_file_grown)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::console_ready)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::tail_goes_on)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::tail_timer_fired)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::close_group)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::close_expired)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::devices_report)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::operator_question)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::job_recorded)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::node_reported)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::status_wanted)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::status_shown)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::status_awaited)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::desk_closed)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::log_lines_read)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::logs_drained)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::stacks_seen)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::stacks_due)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::vitals_report)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::status_due)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::group_event)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::core::agent_lost)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::core::coordinator_not_found)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::core::second_way_found)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::core::leave_requested)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::core::limit_near)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::core::stop_requested)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::ports::location)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::job_observer_actor)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::stop_lasts)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::core::outcome_written)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::core::charter_written)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::core::member_ended)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::electors_question)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::electors_known)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::loss_due)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::signs_due)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::steps_due)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::paces_due)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::worker_hangs)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::core::report_fitness)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::core::check_ended)
ACTORRUN_LOCAL_TYPE(actorrun_actors, actorrun::core::notice_received)
ACTORRUN_END_LOCAL_TYPES(actorrun_actors)
