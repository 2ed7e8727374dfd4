#include "actors/worker_timers.hpp"

#include <algorithm>
#include <chrono>
#include <map>

namespace actorrun {

void add_timers(core::node_vitals& out,
                const std::vector<core::last_request>& timers,
                core::time_point now) {
  using std::chrono::milliseconds;
  auto last = std::map<int64_t, const core::last_request*>{};
  for (const auto& x : timers)
    last.emplace(x.pid, &x);
  for (auto& worker : out.workers) {
    const auto found = last.find(worker.pid);
    if (found == last.end())
      continue;
    // It may have been made after the sample.
    const auto age = std::max(now - found->second->when, core::duration{0});
    worker.timer_scope = found->second->scope;
    worker.timer_age = std::chrono::duration_cast<milliseconds>(age);
  }
}

} // namespace actorrun
