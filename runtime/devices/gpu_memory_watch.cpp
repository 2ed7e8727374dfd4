#include "runtime/devices/gpu_memory_watch.hpp"

#include "messages/formatted.hpp"
#include "runtime/devices/gpu_inventory.hpp"
#include "runtime/devices/nvml.hpp"
#include "runtime/os/process_lookup.hpp"
#include "runtime/os/thread.hpp"

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

namespace actorrun::detail {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using pids = std::vector<int64_t>;

/// Interval between checks whether memory is free; the driver has no event for
/// it.
constexpr auto inspection_interval = 20ms;

/// Those of the processes on GPUs that belong to ended workers.
pids leftovers(const nvml::functions& library, const std::set<pid_t>& ended) {
  auto out = gpu_processes(library);
  std::erase_if(out, [&](int64_t pid) {
    return !ended.contains(static_cast<pid_t>(pid))
           && !ended.contains(session_of(pid));
  });
  return out;
}

/// @param holders None: the driver has not answered yet.
std::string complaint_about(const std::optional<pids>& holders,
                            milliseconds timeout) {
  auto out = std::string{};
  if (!holders) {
    out = formatted("the NVIDIA driver has not reported for {} ms whether GPU "
                    "memory of ended workers is free",
                    timeout.count());
  } else {
    out = formatted(
      "GPU memory of ended workers is still held after {} ms, by process",
      timeout.count());
    for (const auto pid : *holders)
      out += formatted(" {}", pid);
  }
  return out + "; starts the workers all the same";
}

} // namespace

// What is waited for is kept here and not with the threads, so that it is gone
// when the watch is. Callbacks run under the lock: none outlives it.
struct gpu_memory_watch::shared {
  struct wait {
    freed_handler done;
    std::optional<pids> holders{}; ///< As last seen.
  };

  std::mutex mutex;
  std::condition_variable concluded;
  std::map<uint64_t, wait> waits{};
  uint64_t last_wait = 0;

  uint64_t add(freed_handler done) {
    const auto guard = std::lock_guard{mutex};
    waits.emplace(++last_wait, wait{.done = std::move(done)});
    return last_wait;
  }

  /// @returns whether it is still waited for
  bool note(uint64_t which, pids holders) {
    if (holders.empty()) {
      conclude(which);
      return false;
    }
    const auto guard = std::lock_guard{mutex};
    const auto i = waits.find(which);
    if (i == waits.end())
      return false;
    i->second.holders = std::move(holders);
    return true;
  }

  void conclude(uint64_t which) {
    const auto guard = std::lock_guard{mutex};
    report(which, {});
  }

  /// @returns whether it is still waited for
  bool pause(uint64_t which, milliseconds how_long) {
    auto guard = std::unique_lock{mutex};
    return !concluded.wait_for(guard, how_long,
                               [&] { return !waits.contains(which); });
  }

  void expire(uint64_t which, milliseconds timeout) {
    auto guard = std::unique_lock{mutex};
    if (!concluded.wait_for(guard, timeout,
                            [&] { return !waits.contains(which); }))
      report(which, complaint_about(waits.at(which).holders, timeout));
  }

private:
  void report(uint64_t which, std::string complaint) {
    auto found = waits.extract(which);
    if (found.empty())
      return;
    concluded.notify_all();
    found.mapped().done(std::move(complaint));
  }
};

gpu_memory_watch::gpu_memory_watch() : shared_(std::make_shared<shared>()) {}

gpu_memory_watch::~gpu_memory_watch() {
  const auto guard = std::lock_guard{shared_->mutex};
  shared_->waits.clear();
  shared_->concluded.notify_all();
}

// Two threads: the one that asks may never come back from the driver.
void gpu_memory_watch::await(std::vector<pid_t> ended, freed_handler done,
                             milliseconds timeout) {
  const auto which = shared_->add(std::move(done));
  const auto asks
    = [which, state = shared_, leaders = std::set(ended.begin(), ended.end())] {
        const auto loaded = load_nvml();
        if (!loaded)
          return state->conclude(which);
        while (state->note(which, leftovers(**loaded, leaders))
               && state->pause(which, inspection_interval)) {
        }
      };
  const auto limits
    = [which, timeout, state = shared_] { state->expire(which, timeout); };
  if (!run_aside(limits) || !run_aside(asks))
    shared_->conclude(which);
}

} // namespace actorrun::detail
