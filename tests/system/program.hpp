// Owns one program under test: starts it, watches it, and ends it.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace actorrun::test {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock; ///< CLOCK_MONOTONIC, as in the stamps.
using milliseconds = std::chrono::milliseconds;

/// No event of these tests takes longer than this, on any machine.
inline constexpr auto timeout = milliseconds{20'000};

/// Polls `condition` until it holds or `limit` has passed.
/// @returns whether it held
template <class Condition>
bool eventually(Condition condition, milliseconds limit = timeout);

/// The pause between two polls of a condition.
void breathe();

struct program_options {
  std::vector<std::string> words;                 ///< [0] is looked up in PATH.
  std::map<std::string, std::string> environment; ///< The complete environment.
  std::string folder;                             ///< Working directory.
  std::string output; ///< File that gets stdout and stderr.
};

class program {
public:
  /// The result of `wait` for a program that has not ended in time.
  static constexpr int still_running = 1'000;

  explicit program(program_options options);

  program(const program&) = delete;
  program& operator=(const program&) = delete;

  /// Kills it if it still runs. Its output goes to the chronicle.
  ~program();

  pid_t pid() const { return pid_; }

  /// @returns its exit code; minus the signal if one killed it
  int wait(milliseconds limit = timeout);

  bool running();

  /// Sends `number`; nothing happens if it has ended.
  void signal(int number);

  /// All its output so far, of both streams.
  std::string output() const;

  /// Waits until it has written `text`, or has ended without it.
  bool says(std::string_view text, milliseconds limit = timeout);

private:
  program_options options_;
  pid_t pid_ = 0;
  int status_ = still_running;
};

/// How often `part` occurs in `text`.
size_t count_of(std::string_view text, std::string_view part);

/// The content of a file; empty if there is none.
std::string content_of(const std::string& path);

/// Whether a process exists and is no zombie.
bool alive(pid_t pid);

/// The processes below `pid`, zombies left out. Reaps those that have become
/// children of this process because their parent is gone.
std::vector<pid_t> descendants(pid_t pid);

/// Whether this process is the warden of an agent.
bool is_warden(pid_t pid);

/// Output of the programs of this test case, shown when it fails.
std::string& chronicle();

template <class Condition>
bool eventually(Condition condition, milliseconds limit) {
  const auto due = clock::now() + limit;
  for (;;) {
    if (condition())
      return true;
    if (clock::now() >= due)
      return condition();
    breathe();
  }
}

} // namespace actorrun::test
