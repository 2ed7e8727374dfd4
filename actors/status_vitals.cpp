#include "actors/status_vitals.hpp"

#include "actors/job_status.hpp"
#include "actors/translate.hpp"

#include <algorithm>
#include <chrono>
#include <utility>
#include <vector>

namespace actorrun {

namespace {

bool is_worker_of(const v1::AgentStatus& agent, const core::worker_vitals& x) {
  return x.local_rank < static_cast<uint32_t>(agent.pids_size())
         && agent.pids(static_cast<int>(x.local_rank)) == x.pid;
}

bool add_workers(v1::AgentStatus& agent, const core::node_vitals& from,
                 status_room& room) {
  for (const auto& x : from.workers) {
    if (!is_worker_of(agent, x))
      continue;
    auto entry = to_wire(x);
    if (!room.take(entry.ByteSizeLong()))
      return false;
    *agent.mutable_vitals()->add_workers() = std::move(entry);
  }
  return true;
}

} // namespace

void add_vitals(v1::JobStatus& out,
                const std::function<vitals_of_node(const agent_id&)>& of) {
  auto room = status_room{out};
  auto known = std::vector<std::pair<v1::AgentStatus*, vitals_of_node>>{};
  for (auto& agent : *out.mutable_agents()) {
    const auto x = of({agent.agent_id()});
    if (x.what == nullptr)
      continue;
    auto entry = to_wire(*x.what);
    const auto age
      = std::chrono::duration_cast<std::chrono::milliseconds>(x.age).count();
    entry.set_age_ms(static_cast<uint64_t>(std::max<int64_t>(age, 0)));
    if (!room.take(entry.ByteSizeLong()))
      return out.set_vitals_truncated(true);
    *agent.mutable_vitals() = std::move(entry);
    if (x.what->truncated)
      out.set_vitals_truncated(true);
    known.emplace_back(&agent, x);
  }
  for (const auto& [agent, x] : known)
    if (!add_workers(*agent, *x.what, room))
      return out.set_vitals_truncated(true);
}

} // namespace actorrun
