// Learns from Slurm when the time limit of a job is near.
#pragma once

#include "cli/options/run_arguments.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::cli {

/// A time as squeue(1) writes it: `1-02:03:04`, `2:00`.
/// @returns nothing if there is no limit
/// @retval errc::bad_argument  it is no time
result<std::optional<std::chrono::seconds>>
parse_slurm_time(std::string_view text);

/// The time that is left, from what squeue writes: the job's on the first line,
/// and on the second the step's limit and how much of it is used.
/// @returns nothing if neither has a limit
/// @retval errc::system_failure  it is something else; the text quotes it
result<std::optional<std::chrono::seconds>>
time_left_in(std::string_view answer);

/// Asks Slurm when it begins, and again when the time has come, because limits
/// can be changed. One thread, which may hang with Slurm, and is left then.
class time_limit_watch {
public:
  using seconds = std::chrono::seconds;

  /// On the watch's thread; must not block.
  struct callbacks {
    /// Called once.
    std::function<void(seconds left)> on_near;
    /// There will be no other call.
    std::function<void(const std::string& why)> on_unknown;
  };

  time_limit_watch(const time_limit_notice& when, callbacks calls);

  /// No call is made from then on.
  ~time_limit_watch();

  time_limit_watch(const time_limit_watch&) = delete;
  time_limit_watch& operator=(const time_limit_watch&) = delete;

private:
  struct shared;
  static void run(shared& x, const time_limit_notice& when);

  std::shared_ptr<shared> shared_;
};

} // namespace actorrun::cli
