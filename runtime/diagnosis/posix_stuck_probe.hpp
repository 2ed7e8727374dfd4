// Inspects hanging workers by /proc and py-spy.
#pragma once

#include "actors/core/reports/hang_summary.hpp"
#include "actors/core/time.hpp"
#include "actors/ports/stuck_probe.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::detail {

/// A snapshot of several workers at one time.
struct group_snapshot {
  std::vector<core::worker_snapshot> workers{};
  std::string details{}; ///< All of it, lines.
};

/// Has a thread of its own from the first request on. Requests wait for the one
/// before; one that follows soon for the same workers gets the same answer,
/// because mostly all workers are overdue at once.
class posix_stuck_probe final : public ports::stuck_probe {
public:
  /// @param search_path Where py-spy may be; see `find_py_spy`.
  /// @param ras_port    Of NCCL's RAS service in the workers; none: it is not asked.
  explicit posix_stuck_probe(std::string search_path,
                             std::optional<uint16_t> ras_port = {});

  /// Waits at most a second for the present inspection; answers no more.
  ~posix_stuck_probe() override;

  posix_stuck_probe(const posix_stuck_probe&) = delete;
  posix_stuck_probe& operator=(const posix_stuck_probe&) = delete;

  /// Answers, then writes everything to `stuck_file_of(error_file)` of the
  /// overdue worker, so a hanging disk delays no answer.
  void look(std::vector<ports::probed_worker> workers, uint32_t overdue,
            std::chrono::milliseconds limit,
            std::function<void(std::string summary)> on_done) override;

  /// On a thread of its own, so that the question of an operator holds up no other.
  void
  see(std::vector<ports::probed_worker> workers,
      std::chrono::milliseconds limit,
      std::function<void(std::vector<core::worker_stack>)> on_done) override;

  std::string summarize(int64_t pid) override;

private:
  struct shared;
  std::shared_ptr<shared> shared_;
};

/// PATH.
std::string search_path_of_this_process();

/// Inspects all workers in their order.
/// @param py_spy Empty: no Python stacks.
group_snapshot see_workers(const std::vector<ports::probed_worker>& workers,
                           const std::string& py_spy,
                           core::time_point deadline);

/// Finds out where all workers are, in their order.
/// @param py_spy Empty: no Python stacks.
std::vector<core::worker_stack>
see_stacks(const std::vector<ports::probed_worker>& workers,
           const std::string& py_spy, core::time_point deadline);

/// Adds what NCCL says of these workers.
/// @param answer Of its RAS service; empty: there is none.
void add_lagging(std::vector<core::worker_stack>& to, std::string_view answer);

/// Beside an error file: `…/2/error.json` → `…/2/stuck.txt`,
/// `…/error_2.json` → `…/stuck_2.txt`; of another name, behind it.
std::string stuck_file_of(const std::string& error_file);

} // namespace actorrun::detail
