// Describes failures of workers: which worker, where, how, how long ago, what the
// machine knows about it, and what the command line wants to follow.
#pragma once

#include "actors/core/time.hpp"
#include "messages/ids.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::core {

/// How a worker failed.
enum class failure_kind : uint8_t {
  exited,      ///< It ended by itself; `code` is its exit code, 1..255.
  signalled,   ///< A signal that we did not send; `code` is its number.
  not_started, ///< It never ran; `code` is the errno.
  /// It was ended because it overran a timer; `code` is the signal that it
  /// died of, or was sent if it exited by itself then.
  timer_expired,
  /// It was killed and has not ended: it hangs in the kernel. `code` is SIGKILL.
  unkillable,
};

/// Bytes of a failure's texts that travel and are shown.
inline constexpr size_t failure_message_max = 2'048;
inline constexpr size_t failure_traceback_max = 16'384;
inline constexpr size_t failure_path_max = 1'024;
inline constexpr size_t failure_scope_max = 256;
inline constexpr size_t failure_where_max = 640;

/// The same for failures that are listed after another.
inline constexpr size_t brief_message_max = 512;
inline constexpr size_t brief_traceback_max = 768;
inline constexpr size_t brief_path_max = 256;
inline constexpr size_t brief_scope_max = 80;
inline constexpr size_t brief_where_max = 112;

/// Of a message in a line for people, or of the name of a timer.
inline constexpr size_t line_message_max = 200;

/// Names the timer of a worker that was ended because its job hung.
inline constexpr std::string_view hang_scope = "--hang-timeout";

/// What is known of a death beyond its status. All but `out_of_memory` is for
/// people; the texts come from workers and may hold any bytes.
struct death_details {
  int64_t wall_ms = 0; ///< Unix time on the worker's host, in ms; 0: unknown.
  /// The kernel killed it because memory was short.
  bool out_of_memory = false;
  std::string subject{}; ///< not_started: the file that could not be used.
  std::string
    error_file{}; ///< Path of the error file; empty: none was written.
  /// From the error file: `<type>: <text>`, or what is wrong with that file. Of
  /// a worker that was not started: why, if the errno does not say it. At most
  /// `failure_message_max` bytes, one line.
  std::string message{};
  /// From the error file, else the last lines of standard error. At most
  /// `failure_traceback_max` bytes, the end of it.
  std::string traceback{};
  bool is_from_stderr = false; ///< Where `traceback` comes from.
  /// timer_expired, or unkillable after that: the name of the timer.
  std::string scope{};
  duration lateness{0}; ///< Likewise: from its deadline on.
  /// Likewise: how long the timer was to run. None: that is not known, or its
  /// deadline was over when it was asked for.
  std::optional<duration> limit{};
  /// timer_expired: where the worker and its peers were; unkillable: where it
  /// hangs. Lines; empty: it could not be found out.
  std::string where{};

  friend bool operator==(const death_details&, const death_details&) = default;
};

/// The death of a worker that was not ordered.
struct worker_failure {
  agent_id agent{};
  std::string host{};
  uint32_t global_rank = 0;
  uint32_t local_rank = 0;
  int64_t pid = 0; ///< 0 if it was not started.
  failure_kind kind = failure_kind::exited;
  int code = 0;
  bool dumped = false; ///< A core file was written.
  /// From the death to the moment at which this is reported, by the agent's
  /// monotonic clock: lets a coordinator order the failures of several hosts
  /// without their wall clocks.
  duration age{0};
  /// signalled: at most this long before that, it had begun to end, and its
  /// connections may have been closed: its memory had to be freed, on a busy machine.
  duration teardown{0};
  /// It was being stopped, and died of a signal that its agent had not sent.
  bool while_stopped = false;
  death_details details{};

  friend bool operator==(const worker_failure&, const worker_failure&)
    = default;
};

/// How long the kernel may take to end a process that has used so much memory, in
/// bytes: a cautious guess.
duration longest_teardown(uint64_t memory);

/// True if starting again cannot help: there is no such program, or the system
/// does not execute it.
bool is_permanent(const worker_failure& x);

/// The same failure, reported `by` later.
worker_failure aged(worker_failure x, duration by);

/// The end of a traceback, at most `size_max` bytes, from the beginning of a line
/// on. Says in a first line how many lines are missing, and counts those of an
/// earlier such line. Only a text that is hardly more than one line begins within
/// it.
std::string last_whole_lines(std::string_view text, size_t size_max);

/// With texts cut to what may travel: messages keep their begin, tracebacks and
/// paths their end.
worker_failure bounded(worker_failure x);

/// With texts cut to what may travel behind another failure.
worker_failure brief(worker_failure x);

/// `rank 3 (local rank 1, pid 4711) on node-b exited with code 7`; one line of
/// valid UTF-8, whatever the texts hold.
std::string to_string(const worker_failure& x);

/// `scope "train_step" was not left within 500 ms`, one line. How late it was
/// is added where that is more than a twentieth of the limit: less is what the
/// kernel needs to wake up an agent. Of `hang_scope`: for how long the job hung.
std::string overrun_text(const death_details& x);

/// The text as one line, printable (`text.hpp`), with single spaces.
/// @param size_max In bytes, at least 4; a longer text ends in `…`, which
///                 counts.
std::string one_line(std::string_view text, size_t size_max);

/// At most this many failures are listed after the first of a generation.
inline constexpr size_t other_failures_max = 16;

/// Failures that are not, or not known to be, the first of their generation; those
/// that died first in front.
struct collateral {
  std::vector<worker_failure> listed{}; ///< At most `other_failures_max`.
  uint32_t unlisted_count = 0;          ///< More of them.

  /// Adds a failure that is later than those that are listed.
  void add(worker_failure x);
  void add(collateral xs);

  bool empty() const { return listed.empty() && unlisted_count == 0; }
  uint64_t count() const { return listed.size() + uint64_t{unlisted_count}; }

  friend bool operator==(const collateral&, const collateral&) = default;
};

collateral aged(collateral xs, duration by);

// -- what follows ---------------------------------------------------------------

/// What kind of trouble ended a generation (docs/failures.md).
enum class end_class : uint8_t {
  none,       ///< No trouble: nodes have joined, an operator has asked.
  program,    ///< The program: an exit code, an exception, a crash.
  user,       ///< What was typed: no such program, arguments it does not take.
  node,       ///< A machine: lost, short of memory, with a GPU fault.
  network,    ///< A connection: a node out of touch, a peer that is missed.
  preemption, ///< The machine was wanted: a notice, or SIGTERM from outside.
  hang,       ///< A worker stood still: a timer, or `--hang-timeout`.
  unknown,    ///< The evidence says nothing: SIGKILL from outside, for one.
};

inline constexpr size_t end_class_count = 8;

/// What follows from an end of some class.
enum class end_action : uint8_t {
  usual,   ///< Nothing was said of that class.
  restart, ///< Start again, even where another start seems not to help.
  stop,    ///< The job ends as failed.
  exclude, ///< The host gets no place any more, and the group starts again.
};

/// Names the rule where it has decided.
inline constexpr auto gpu_fault_option = std::string_view{"--on-gpu-fault"};

/// What follows when the driver finds fault with a GPU of a node that takes part.
enum class gpu_fault_action : uint8_t {
  report,
  drain,   ///< The node leaves, once another one can take its place.
  exclude, ///< Its host gets no place any more, if enough others are left.
};

/// What the command line says about failures.
struct restart_rules {
  /// A host with so many failures that have cost a restart is excluded if enough
  /// others are left; 0: never.
  uint32_t exclude_after = 0;
  /// By class.
  std::array<end_action, end_class_count> actions{};
  /// So many restarts in a row that have brought no new step end the job; 0: never.
  uint32_t idle_restarts_max = 0;
  /// From the second end in a row that is like the one before, the next start waits:
  /// so long, then twice as long each time, up to `backoff_max`. 0: it does not.
  std::chrono::milliseconds backoff_min{0};
  std::chrono::milliseconds backoff_max{0};
  /// A failure costs no restart if the check of its node that follows it fails.
  bool node_failures_are_free = false;
  gpu_fault_action on_gpu_fault = gpu_fault_action::drain;

  end_action action_for(end_class x) const {
    return actions[static_cast<size_t>(x)];
  }

  friend bool operator==(const restart_rules&, const restart_rules&) = default;
};

} // namespace actorrun::core
