// PUBLIC: starts a group of processes, programs or functions, and watches them
// together: what torch.distributed.elastic.multiprocessing is for Python.
#pragma once

#include "actors/core/generation.hpp"
#include "actors/core/workers/worker_outputs.hpp"
#include "actors/log.hpp"
#include "actors/ports/log_layout.hpp"
#include "messages/result.hpp"
#include "runtime/entry_points.hpp"

#include <caf/fwd.hpp>
#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <sys/types.h>

namespace actorrun {

namespace detail {
class process_group;
}

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

/// How a group of processes ended. All maps are by local rank.
struct processes_result {
  /// Return values of the functions: null for a function without one and for a
  /// program that exited with 0. A rank is missing if it failed, was stopped,
  /// or ended its process itself.
  std::map<uint32_t, nlohmann::json> return_values{};
  /// Processes that failed by themselves, without those stopped because another
  /// one failed.
  std::map<uint32_t, core::worker_failure> failures{};
  /// The rank whose failure came first, and ended the group.
  std::optional<uint32_t> first_failed{};
  /// Failures that are not in the map: when many processes fail at once, not
  /// all failures are kept.
  uint32_t unlisted_failure_count = 0;
  /// Paths of the files that hold the output; empty where there is none.
  std::map<uint32_t, std::string> stdouts{};
  std::map<uint32_t, std::string> stderrs{};
  /// True if `close` ended the group before it was done.
  bool was_closed = false;

  bool is_failed() const { return !failures.empty(); }

  /// Whether all processes have come to their end by themselves, none with a failure.
  bool succeeded() const { return !is_failed() && !was_closed; }

  /// @pre `is_failed()`
  const core::worker_failure& first_failure() const {
    return failures.at(*first_failed);
  }
};

/// The processes that `start_processes` has started. When one fails, the others
/// are stopped. None outlives this object or this program, however that ends.
/// All functions may be called from any thread.
class process_context {
public:
  /// Closes, with the stop signal and the grace period of the group's options.
  ~process_context();

  process_context(const process_context&) = delete;
  process_context& operator=(const process_context&) = delete;

  /// Waits for the end of the group: all have succeeded; or one has failed and
  /// the others have been stopped; or it was closed. By then, what the
  /// processes have written is in the files, and what is shown is on the
  /// console if that is read.
  /// @param timeout 0 or less returns at once; none waits without limit.
  /// @returns nothing while processes run; after the end the same each time
  std::optional<processes_result>
  wait(std::optional<std::chrono::milliseconds> timeout = std::nullopt);

  /// The processes' ids by local rank, also after their end.
  std::map<uint32_t, pid_t> pids() const;

  /// Stops the group: sends `signal` to each process group, after `timeout`
  /// SIGKILL, and waits for the end. Also shortens a stop that is in progress.
  /// Does nothing after the end.
  /// @param signal 1..SIGRTMAX; anything else is SIGKILL.
  /// @param timeout 0 or less kills at once.
  /// @returns false if a killed process hangs in the kernel; it is given up
  ///          after a few seconds
  bool close(int signal = SIGTERM,
             std::chrono::milliseconds timeout = std::chrono::seconds{30});

  /// For `start_processes`.
  explicit process_context(std::unique_ptr<detail::process_group> group);

private:
  std::unique_ptr<detail::process_group> group_;
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
