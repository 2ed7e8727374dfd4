// Starts and signals the workers' processes, which never outlive their agent.
// runtime/ has the real implementation, tests have a fake.
#pragma once

#include "actors/core/devices/binding.hpp"
#include "actors/core/time.hpp"
#include "actors/core/workers/worker_outputs.hpp"
#include "messages/ids.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include <sys/types.h>

namespace actorrun::ports {

/// How a process comes into being.
enum class start_method : uint8_t {
  exec,        ///< `arguments` are executed.
  fork,        ///< `body` runs in a copy of this program.
  fork_server, ///< A server, started from `arguments[0]`, forks itself.
};

/// One process to start, complete: nothing is inherited but the working
/// directory, standard input, limits and umask, and what is named here.
struct process_spec {
  uint32_t local_rank = 0;
  std::vector<std::string> arguments{};   ///< argv; [0] is looked up in PATH.
  std::vector<std::string> environment{}; ///< `NAME=value`, the whole of it.
  /// A file is made or emptied, and written at its end. One that cannot be
  /// opened costs the output, not the process.
  core::stream_target out{};
  core::stream_target err{};
  start_method method = start_method::exec;
  /// For `fork`: returns the exit code. Runs alone in its process.
  std::function<int()> body{};
  /// The process gets these as 3, 4, …; the caller keeps them open until the
  /// result of the start is reported.
  std::vector<int> descriptors{};
  /// Where it may run, for `exec` only; a process that cannot be bound is not
  /// started.
  core::process_binding binding{};
};

struct process_started {
  generation_id generation;
  uint32_t local_rank = 0;
  pid_t pid = 0;
};

/// The process could not be created or the program not executed.
struct process_not_started {
  generation_id generation;
  uint32_t local_rank = 0;
  /// errno of the step that failed; ECANCELED: the fence, or a signal that came
  /// while the start was under way.
  int error = 0;
  /// What could not be used: the program, or the interpreter that its first
  /// line names.
  std::string subject{};
  core::time_point when{};
};

/// A process has ended. What it leaves in its group is left alone until the
/// generation is signalled or released.
struct process_exited {
  generation_id generation;
  uint32_t local_rank = 0;
  pid_t pid = 0;
  int exit_code = 0;   ///< 0..255; meaningless when `signal` is not 0.
  int signal = 0;      ///< The signal that killed it; 0: it exited by itself.
  bool dumped = false; ///< A core file was written.
  /// When its end was noticed, or that it was ending.
  core::time_point when{};
  /// It had begun to end before it was sent a signal that is to end it.
  bool was_ending = false;
  bool is_foreign = false; ///< It died of a signal that this host has not sent.
  uint64_t memory = 0;     ///< The most that it has used, in bytes; 0: unknown.
};

using process_event
  = std::variant<process_started, process_not_started, process_exited>;

/// Whom a signal reaches that asks a worker to end.
enum class signal_scope : uint8_t {
  group, ///< Its process group: what it has started, too.
  worker ///< Itself: what it has started may be needed until it is done.
};

/// A point in the history of a host's fence: how often it had fired.
struct fence_token {
  uint64_t fire_count = 0;
};

/// Starts and signals the processes of one agent. All calls return at once.
/// Events arrive at the listener in the order in which they happened, several at
/// a time.
class process_host {
public:
  /// Called on a thread of the host's own; must not block.
  using listener = std::function<void(std::vector<process_event>)>;

  virtual ~process_host() = default;

  /// Starts the processes of one generation. Each ends in exactly one
  /// `process_not_started`, or `process_started` and later `process_exited`.
  /// @param decided Taken when the start was decided. If the fence has fired since
  ///                then, or passes before a program runs, that process is not
  ///                started: ECANCELED.
  /// Called again for a generation that is not over, it starts what could not be
  /// started before.
  /// @pre all processes of earlier generations have been released
  virtual void start(generation_id generation, fence_token decided,
                     std::vector<process_spec> processes, listener on_event)
    = 0;

  /// Sends `signal` to the process group of every process of `generation`, also to
  /// what is left of groups whose leader has ended. Starts that are under way
  /// are given up; one that cannot be any more gets the signal as soon as it runs.
  /// A signal that can be handled reaches one even if it was stopped: SIGCONT
  /// follows. Of each process it is noted before whether it is ending already.
  /// @param spared Local ranks whose groups get none; they are to end in another
  /// way.
  /// @param scope  For SIGKILL always as `group`.
  virtual void signal(generation_id generation, int signal,
                      std::vector<uint32_t> spared, signal_scope scope)
    = 0;

  /// The same for this process alone, if that runs.
  /// @param signal 0: none; the process is to end in another way.
  virtual void signal_one(generation_id generation, uint32_t local_rank,
                          int signal, signal_scope scope)
    = 0;

  /// Sends `signal` to every running process of `generation`, but not to its child
  /// processes: a program that does not expect a signal may die of it.
  virtual void notify(generation_id generation, int signal) = 0;

  /// The fence does not concern this process of `generation` any more, unless it
  /// has fired since the start, or the resumption, was decided: then the process is
  /// killed.
  /// @param on_spared Called on a thread of the host's own; not at all if the
  /// process
  ///                  is killed or has ended.
  virtual void park(generation_id generation, uint32_t local_rank,
                    std::function<void()> on_spared)
    = 0;

  /// It concerns these again: they go on in a newer generation. All calls name them
  /// by the generation in which they were started, as before. Those whose
  /// resumption was decided before the fence fired, or comes after it, are killed.
  /// @param decided    As for `start`.
  /// @param on_resumed Called once, on a thread of the host's own, with the others.
  virtual void resume(generation_id generation, fence_token decided,
                      std::vector<uint32_t> local_ranks,
                      std::function<void(std::vector<uint32_t>)> on_resumed)
    = 0;

  /// Ends what is left of `generation`: kills the remains of its process groups and
  /// forgets them. Call when every process has ended but for these.
  /// @param spared Local ranks that live on. Call it again with fewer of them.
  virtual void release(generation_id generation, std::vector<uint32_t> spared)
    = 0;

  /// Calls `on_answer` once, on a thread of the host's own, when it has carried
  /// out all earlier calls: as long as it does, it can end processes.
  virtual void check(std::function<void()> on_answer) = 0;

  /// All processes are killed at `due` unless a later call moves it, even if
  /// this program is stopped or hangs by then. `time_point::max()`: never.
  /// Callable from any thread; takes effect before it returns.
  /// @returns the fence's history before the call
  virtual fence_token set_fence(core::time_point due) = 0;
};

} // namespace actorrun::ports
