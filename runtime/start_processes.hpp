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
  /// A copy of this process as it is, with one thread. Quick, and everything in
  /// memory is there; but a lock that another thread held stays locked for
  /// ever. For programs that have no other threads, or know them well.
  fork,
  /// This program is executed once again, and copies itself for each worker:
  /// quick and clean. Until then it has only come to `run_as_worker`.
  fork_server,
};

/// The variables that one process gets in addition to those of this program, or
/// instead of them.
using environment_map = std::map<std::string, std::string>;

/// What to start. `args` and `envs` say how many processes there are: both have
/// exactly the keys 0..N-1, the local ranks; N is 1..4,096.
struct process_options {
  /// Label of the group in logs and line prefixes, as `${role_name}`; at most
  /// 255 bytes.
  std::string name = "worker";
  /// A program, looked up in PATH unless it has a slash; or a function.
  std::variant<std::string, entry_point> entrypoint{};
  /// What each process is called with. To a program, texts go as they are,
  /// numbers and booleans as JSON writes them; it gets no other values.
  std::map<uint32_t, argument_list> args{};
  /// TORCHELASTIC_ERROR_FILE is set for all; no other variable is, LOCAL_RANK
  /// neither.
  std::map<uint32_t, environment_map> envs{};
  /// Where output goes; from the start everything is raw on the console, and
  /// error files are in a new folder for temporary files.
  core::log_options logs{};
  /// Where the files lie, if not in torchrun's layout; `logs` then counts for
  /// nothing but prefixes, filters, rotation and folding.
  std::shared_ptr<ports::log_layout> layout{};
  /// Before each line on the console, by local rank. A rank that is not named
  /// has the prefix of `logs`.
  std::map<uint32_t, std::string> log_line_prefixes{};
  start_method method = start_method::spawn; ///< Of functions.
  /// Asks the others to end when one has failed.
  int stop_signal = SIGTERM;
  /// From then to SIGKILL, at most a week. 0 kills at once.
  std::chrono::milliseconds grace_period{30'000};
  /// Runs the two or three actors of the group and outlives the context; see
  /// `configure`. Null: the context has an actor system of its own.
  caf::actor_system* system = nullptr;
  log lines{}; ///< Where decisions are told.
};

/// Starts all processes and returns when each runs. Every one leads a session
/// of its own; working directory, standard input, limits and umask are those of
/// this program.
///
/// When a start fails, the others are ended, and nothing is left. Blocks until
/// the starts are decided: not to be called by an actor of `system`.
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
