// Lists all error codes, with the conditions for returning each. The messages for
// users and their remedies are in cli/report/diagnostics.
#pragma once

#include <cstdint>
#include <string_view>

namespace actorrun {

enum class errc : uint8_t {
  none = 0,

  // -- what the user typed ----------------------------------------------------
  bad_argument, ///< An option's value has the wrong form or is out of range.

  // -- meeting ----------------------------------------------------------------
  unresolvable,         ///< A host name has no address.
  address_in_use,       ///< Another program listens on the endpoint.
  cannot_listen,        ///< The endpoint cannot be bound for another reason.
  connection_refused,   ///< Something answers that no process listens.
  connection_timed_out, ///< Nothing came back in time.
  connection_failed,    ///< The system refused the connect; see its errno.
  not_actorrun,         ///< The peer does not speak our protocol.
  protocol_mismatch,    ///< The two sides speak different protocol versions.
  job_mismatch,         ///< The endpoint serves a job with another id.
  secret_mismatch,      ///< The two sides hold different secrets, or one none.
  settings_mismatch,    ///< --nnodes or --max-restarts differ from the job's.
  rendezvous_timed_out, ///< Fewer than the minimum of agents came in time.
  coordinator_lost,     ///< The coordinator went away and did not come back.

  // -- offers and placements --------------------------------------------------
  bad_slot_count,  ///< An offer has no slots, or more than an agent may have.
  duplicate_agent, ///< Two offers name the same agent.
  too_many_agents, ///< More offers than one generation can hold.

  // -- workers ----------------------------------------------------------------
  program_not_found,      ///< There is no such program or script.
  program_not_executable, ///< The program is there and cannot be run.
  start_failed,           ///< The system could not create the process.

  // -- this machine -----------------------------------------------------------
  log_failed,     ///< A log folder or file cannot be made, opened or rotated.
  system_failure, ///< A call to the system failed that should not; see errno.

  // The number of a code is on the wire: more of them follow here.
  worker_unkillable, ///< SIGKILL has not ended workers of this node.

  // -- etcd -------------------------------------------------------------------
  etcd_unreachable, ///< No etcd with the v3 API answers at the endpoint.
  etcd_denied,      ///< etcd, or TLS before it, refuses access.

  // -- proofs -----------------------------------------------------------------
  coordinator_gone, ///< The coordinator has ended: its machine has proved it.
  job_over,         ///< The job ended while this member of it was away.
  user_mismatch,    ///< The job belongs to another user.

  // -- what a peer says -------------------------------------------------------
  bad_plan, ///< A plan or a claim does not fit what the agent has offered.
  certificate_mismatch, ///< One side has no certificate that the other accepts.
};

/// The identifier of a code, as it stands in logs and JSON: `"job_mismatch"`.
std::string_view to_string(errc code);

} // namespace actorrun
