// Runs a fork server: this program, started again by its agent, which makes
// workers by forking itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace actorrun::detail {

/// Makes a program a fork server. Its value is the number of the descriptor on
/// which the agent sends its requests.
inline constexpr auto fork_server_variable = "ACTORRUN_FORK_SERVER";

/// What a worker runs; returns its exit code.
/// @param arguments Those of its `ports::process_spec`, [0] included.
using fork_entry = std::function<int(const std::vector<std::string>&)>;

/// The descriptor for `serve_forks`; -1 if this program is not a fork server.
/// Removes the variable from the environment, so that programs started from
/// here are not fork servers; a second call returns -1.
int fork_server_socket();

/// Makes workers until the agent closes its end of the socket or dies. Call it
/// first in `main`, before any thread is started: locks that other threads hold
/// at a fork stay locked in the workers; then a line on stderr warns.
///
/// A worker is a child of the *agent*, and alone in its session. It has the
/// environment, the descriptors (as 3, 4, …) and the outputs of its
/// `process_spec`; all signals have their default action. The rest, such as
/// memory, working directory, umask and limits, is as the server has it. Fork
/// handlers (`pthread_atfork`) do not run.
///
/// @param run Called in each worker, which ends with the code it returns, after
///            the standard streams were flushed; no destructors and no `atexit`
///            handlers run. An exception that leaves it is `std::terminate`.
/// @returns in the server only: the exit code to return from `main`
int serve_forks(int socket_fd, const fork_entry& run);

} // namespace actorrun::detail
