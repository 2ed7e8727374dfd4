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
  if (hung() == x.generation)
    found_.reset();
}

std::optional<job_hang> job_silence::find(generation_id running,
                                          const std::vector<agent_id>& members,
                                          time_point now) {
  if (asked_ != running) {
    asked_ = running;
    found_.reset();
    again_at_ = {};
  }
  if (running.value == 0 || members.empty())
    return {};
  auto out = job_hang{.generation = running, .ends = true};
  auto first = time_point::max();
  out.since = time_point::min();
  for (const auto& agent : members) {
    const auto i = silent_.find(agent);
    if (i == silent_.end() || i->second.said.generation != running
        || !i->second.said.can_tell)
      return {};
    const auto& [said, since] = i->second;
    out.limit = std::max(out.limit, said.limits.timeout);
    out.ends = out.ends && said.limits.ends;
    out.since = std::max(out.since, since);
    if (since < first) {
      first = since;
      out.first = agent;
    }
  }
  if ((found_ && !out.ends) || now < again_at_)
    return {};
  out.number = ++count_;
  found_ = out;
  again_at_ = now + repeat_pause(out.limit);
  return out;
}

void job_silence::give_up(const job_hang& x) {
  if (is_still(x))
    found_.reset();
}

} // namespace actorrun::core
