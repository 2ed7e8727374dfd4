// What the programs' exit codes mean: this table and nothing else.
#pragma once

#include "messages/errc.hpp"

#include <cstdint>
#include <string>

namespace actorrun::cli {

enum class exit_code : uint8_t {
  succeeded = 0,
  workers_failed = 1,           ///< And no restart was left.
  bad_arguments = 2,            ///< As every parse error of torchrun.
  rendezvous_failed = 3,        ///< Too few nodes, or no coordinator found.
  refused = 4,                  ///< The coordinator does not let this node in.
  coordinator_lost = 5,         ///< It went away and did not come back.
  machine_refused = 6,          ///< A port, a process, a descriptor was denied.
  worker_unkillable = 7,        ///< SIGKILL has not ended workers of this node.
  program_not_executable = 126, ///< As shells have it.
  program_not_found = 127,      ///< As shells have it.
};

/// How a program ends because of `code`; `succeeded` for `errc::none`.
exit_code exit_code_of(errc code);

/// How a program ends that was told to by a signal, 1..64: 128 + signal.
int exit_code_of_signal(int signal);

/// One line per code, for `--help`; ends with a line end.
std::string exit_code_table();

} // namespace actorrun::cli
