// Defines the exit codes of the programs: this table and nothing else.
#pragma once

#include "actors/core/end_class.hpp"
#include "messages/errc.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::cli {

enum class exit_code : uint8_t {
  succeeded = 0,
  workers_failed = 1,    ///< No restart was left.
  bad_arguments = 2,     ///< The same as torchrun's parse errors.
  rendezvous_failed = 3, ///< Too few nodes, or no coordinator found.
  refused = 4,           ///< The coordinator refuses this node.
  coordinator_lost = 5,  ///< It went away; or the job is over.
  machine_refused = 6,   ///< A port, a process, a descriptor was denied.
  worker_unkillable = 7, ///< SIGKILL has not ended workers of this node.
  stood_by = 8,          ///< The job succeeded, and others ran it.
  declined = 9,          ///< The operator said no to a question.
  // With --class-exit-codes, in place of `workers_failed` and other codes.
  failed_program = 40,
  failed_user = 41,
  failed_node = 42,
  failed_network = 43,
  failed_preemption = 44,
  failed_hang = 45,
  failed_unknown = 46,
  no_progress = 47,             ///< Restarts brought no new step.
  program_not_executable = 126, ///< As in shells.
  program_not_found = 127,      ///< As in shells.
};

/// The exit code of a program that ends because of `code`; `succeeded` for
/// `errc::none`.
exit_code exit_code_of(errc code);

/// The exit code of a job that trouble of this class has ended.
/// @pre not `none`
exit_code exit_code_of(core::end_class what);

/// The exit code of a program that was ended by a signal, 1..64: 128 + signal.
int exit_code_of_signal(int signal);

/// Every code with its meaning, for --help and the manual.
std::vector<std::pair<std::string, std::string>> exit_code_table();

} // namespace actorrun::cli
