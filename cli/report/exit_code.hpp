// Defines the exit codes of the programs: this table and nothing else.
#pragma once

#include "messages/errc.hpp"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::cli {

enum class exit_code : uint8_t {
  succeeded = 0,
  workers_failed = 1,           ///< No restart was left.
  bad_arguments = 2,            ///< The same as torchrun's parse errors.
  rendezvous_failed = 3,        ///< Too few nodes, or no coordinator found.
  refused = 4,                  ///< The coordinator refuses this node.
  coordinator_lost = 5,         ///< It went away; or the job is over.
  machine_refused = 6,          ///< A port, a process, a descriptor was denied.
  worker_unkillable = 7,        ///< SIGKILL has not ended workers of this node.
  stood_by = 8,                 ///< The job succeeded, and others ran it.
  declined = 9,                 ///< The operator said no to a question.
  program_not_executable = 126, ///< As in shells.
  program_not_found = 127,      ///< As in shells.
};

/// The exit code of a program that ends because of `code`; `succeeded` for
/// `errc::none`.
exit_code exit_code_of(errc code);

/// The exit code of a program that was ended by a signal, 1..64: 128 + signal.
int exit_code_of_signal(int signal);

/// Every code with its meaning, for --help and the manual.
std::vector<std::pair<std::string, std::string>> exit_code_table();

} // namespace actorrun::cli
