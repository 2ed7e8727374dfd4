// The fork server's own side: a program that its agent has started again, and
// that makes workers by forking itself.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace actorrun::detail {

/// Tells a program that it is to be a fork server. Its value is the number of
/// the descriptor over which the agent gives its orders.
inline constexpr auto fork_server_variable = "ACTORRUN_FORK_SERVER";

/// What a worker runs; returns its exit code.
/// @param arguments Those of its `ports::process_spec`, [0] included.
using fork_entry = std::function<int(const std::vector<std::string>&)>;

/// The descriptor for `serve_forks`, or -1: this program is no fork server.
/// Takes the variable out of the environment, so that no program started from
/// here takes itself for one; a second call returns -1.
int fork_server_socket();

/// Makes workers until the agent lets go of its end of the socket or dies.
/// Call it first of all in `main`, before any thread is started: what other
/// threads hold at a fork is lost to the workers, and a note on stderr says so.
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
