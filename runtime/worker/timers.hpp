// PUBLIC, for worker programs: sets timers that the agent watches, so that a
// worker that is stuck is found.
#pragma once

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>

// The agent that has started the program watches. If a timer is not released in
// time, it kills the worker and treats that as a failure: the group restarts, and
// the report says which scope has overrun.
//
// A program that was not started by actorrun (the variable
// TORCHELASTIC_TIMER_FILE is not set, and `configure` was not called) has no
// timer server: then all of this does nothing.
//
// All functions may be called from any thread. A call takes about a
// microsecond: one write to a FIFO. If that is full, it waits for a millisecond
// at most; then a thread sends the message later. None throws except for lack
// of memory. A forked child has timers of its own; its parent's go on.
//
// A timer ends with the program, however it ends.
namespace actorrun::worker {

#ifdef __cpp_lib_source_location
using source_location = std::source_location;
#else // Clang before 16 with libstdc++.
struct source_location {
  static source_location current(const char* file = __builtin_FILE(),
                                 unsigned line = __builtin_LINE()) {
    return {file, line};
  }
  const char* file_name() const { return file; }
  unsigned line() const { return line_number; }

  const char* file = "";
  unsigned line_number = 0;
};
#endif

enum class timer_status {
  ok,        ///< It is sent, or will be soon.
  no_server, ///< There is no timer server: nothing has been done.
  lost,      ///< The server has not read for long; the message is lost.
  bad_argument,
};

/// Chooses the timer server and the signal on an overrun. Without this call
/// they are the agent that has started the program, and SIGKILL.
/// @param path   Of the FIFO of a timer server; empty: no timers.
/// @param signal 1..64; 0 or less: an overrun is only reported.
/// @returns `no_server` if no server reads there yet; later calls try again, at
///          most once per second
/// @retval timer_status::bad_argument there is no such signal, or the path cannot
///         be opened as that of a FIFO
timer_status configure(const std::string& path, int signal = SIGKILL);

/// Takes the place of the FIFO: what sets a timer is told to a server of your own,
/// over a network for example. As torch's TimerClient.
class timer_client {
public:
  virtual ~timer_client() = default;

  /// As the functions of these names below. Called by any thread, by several at
  /// once; must not throw.
  virtual timer_status acquire(std::string_view scope,
                               std::chrono::nanoseconds after)
    = 0;
  virtual timer_status release(std::string_view scope) = 0;
};

/// All timers that are set from now on are told to this client, which stays until
/// another is chosen and its last call has returned. Null: to the FIFO again. A
/// timer is released where it was acquired only if nothing is chosen in between. A
/// forked child has the same client.
void configure(std::shared_ptr<timer_client> client);
inline void configure(std::nullptr_t) {
  configure(std::shared_ptr<timer_client>{});
}

/// Starts the timer of a scope, or gives it a new deadline.
/// @param scope Any text; names the timer, and the overrun in the report. UTF-8;
///              3,900 bytes of printable ASCII, 600 of anything always fit.
/// @param after From now on. 0 or less is an overrun at once.
/// @retval timer_status::bad_argument the scope is too long
timer_status acquire(std::string_view scope, std::chrono::nanoseconds after);

/// Ends the timer of a scope, if there is one.
/// @retval timer_status::bad_argument the scope is too long
timer_status release(std::string_view scope);

/// For loops: call it once per step, with more time than a step ever takes.
/// `alive("train_step", 60s)` means: without another call within a minute, this
/// worker is stuck. After the last step, `release("train_step")`.
/// @retval timer_status::bad_argument the name is too long
timer_status alive(std::string_view name, std::chrono::nanoseconds within);

/// How many messages were lost (`timer_status::lost`) in this process.
uint64_t lost_timer_count();

/// A timer for a block:
///
///     {
///       auto guard = actorrun::worker::expires(30s);
///       all_reduce(gradients);
///     }
///
/// Blocks may be nested: each has a timer of its own. A block that is entered
/// again before it is left (by recursion, or by two threads) has only one, which
/// the first to leave releases: give these scopes of their own.
class expires {
public:
  /// @param where Names the scope: `<file>#<line>`, as torch does.
  [[nodiscard]] explicit expires(std::chrono::nanoseconds after,
                                 source_location where
                                 = source_location::current());

  [[nodiscard]] expires(std::chrono::nanoseconds after, std::string_view scope);

  expires(expires&& other) noexcept;
  expires& operator=(expires&& other) noexcept;
  ~expires();

  /// Ends the timer before the block.
  void release() noexcept;

  const std::string& scope() const { return scope_; }

  /// The result of starting the timer.
  timer_status status() const { return status_; }

private:
  std::string scope_;
  timer_status status_;
  bool is_held_ = true;
};

} // namespace actorrun::worker
