// PUBLIC: starts a group of processes, programs or functions, and watches them
// together: what torch.distributed.elastic.multiprocessing is for Python.
#pragma once

#include "actors/core/workers/worker_outputs.hpp"
#include "actors/log.hpp"
#include "actors/ports/log_layout.hpp"
#include "messages/result.hpp"
#include "runtime/entry_points.hpp"
#include "runtime/process_context.hpp"

#include <caf/fwd.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>

namespace actorrun {

/// How a function gets a process of its own. Programs are always executed.
enum class start_method : uint8_t {
  /// This program is executed again, and `run_as_worker` calls the function:
  /// nothing of this process is in the worker. Costs as much as the program's
  /// own start.
  spawn,
  /// A copy of this process with one thread. Fast, and all memory is copied;
  /// but a lock that another thread held stays locked forever. For programs
  /// without other threads.
  fork,
  /// This program is executed once again and forks each worker from the call of
  /// `run_as_worker`: fast, and no state of this process is copied.
  fork_server,
};

/// The variables that one process gets in addition to those of this program, or
/// instead of them.
using environment_map = std::map<std::string, std::string>;

/// What to start. `args` and `envs` define the number of processes: both have
/// exactly the keys 0..N-1, the local ranks; N is 1..4,096.
struct process_options {
  /// Label of the group in logs and line prefixes, as `${role_name}`; at most
  /// 255 bytes.
  std::string name = "worker";
  /// A program, looked up in PATH unless it has a slash; or a function.
  std::variant<std::string, entry_point> entrypoint{};
  /// The arguments of each process. A program gets texts as they are, numbers
  /// and booleans as in JSON, and no other values.
  std::map<uint32_t, argument_list> args{};
  /// Only TORCHELASTIC_ERROR_FILE is added for all processes, not LOCAL_RANK.
  std::map<uint32_t, environment_map> envs{};
  /// Where output goes. By default everything is raw on the console, and error
  /// files are in a new temporary folder.
  core::log_options logs{};
  /// Where the files are, if not in torchrun's layout; then `logs` only applies
  /// to prefixes, filters, rotation and folding.
  std::shared_ptr<ports::log_layout> layout{};
  /// Prefixes of lines on the console by local rank. Other ranks have the
  /// prefix of `logs`.
  std::map<uint32_t, std::string> log_line_prefixes{};
  start_method method = start_method::spawn; ///< Of functions.
  /// Sent to the others when one has failed.
  int stop_signal = SIGTERM;
  /// Time from then until SIGKILL, at most a week. 0 kills at once.
  std::chrono::milliseconds grace_period{30'000};
  /// Runs the two or three actors of the group and outlives the context; see
  /// `configure`. Null: the context has an actor system of its own.
  caf::actor_system* system = nullptr;
  log lines{}; ///< Where decisions are logged.
};

/// Starts all processes and returns when each runs. Each leads a session of its
/// own; working directory, standard input, limits and umask are those of this
/// program.
///
/// When a start fails, all others are ended. Blocks until all have started: do
/// not call it in an actor of `system`.
///
/// @retval errc::bad_argument  a field is out of its range; the keys of `args`
///         or `envs` are not 0..N-1 (the text names both sets); a function is
///         not registered, does not take the arguments, or cannot be reached
///         because `main` did not call `run_as_worker`
/// @retval errc::log_failed              the text names the folder
/// @retval errc::program_not_found       the text names the file
/// @retval errc::program_not_executable  likewise, and the errno
/// @retval errc::start_failed            the system denies another process
/// @retval errc::system_failure          a descriptor or memory was missing
/// @see torch/distributed/elastic/multiprocessing/__init__.py. We differ: no
///      signal handlers are installed; the environment names no rank by
///      itself; what we stop is no failure.
result<std::unique_ptr<process_context>>
start_processes(process_options options);

} // namespace actorrun
