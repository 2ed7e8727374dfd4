// PUBLIC: owns a running group of processes and reports its results.
#pragma once

#include "actors/core/generation.hpp"

#include <nlohmann/json.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <sys/types.h>

namespace actorrun {

namespace detail {

class process_group;

} // namespace detail

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

} // namespace actorrun
