#include "actors/core/hangs/job_silence.hpp"

#include <algorithm>

namespace actorrun::core {

void job_silence::note(const agent_id& agent, const silence_report& x,
                       time_point now) {
  if (x.silent_for > duration{0}) {
    silent_[agent] = {x, now - x.silent_for};
    return;
  }
  silent_.erase(agent);
  hung_ = {};
}

std::optional<job_hang> job_silence::find(generation_id running,
                                          const std::vector<agent_id>& members,
                                          time_point now) {
  if (hung_ != running)
    hung_ = {};
  if (running.value == 0 || members.empty() || hung_ == running)
    return {};
  auto out = job_hang{.generation = running, .ends = true};
  auto can_tell = false;
  auto first = time_point::max();
  auto last = time_point::min();
  for (const auto& agent : members) {
    const auto i = silent_.find(agent);
    if (i == silent_.end() || i->second.said.generation != running)
      return {};
    const auto& [said, since] = i->second;
    can_tell = can_tell || said.can_tell;
    out.limit = std::max(out.limit, said.limits.timeout);
    out.ends = out.ends && said.limits.ends;
    last = std::max(last, since);
    if (since < first) {
      first = since;
      out.first = agent;
    }
  }
  if (!can_tell)
    return {};
  hung_ = running;
  out.silent_for = now - last;
  return out;
}

} // namespace actorrun::core
