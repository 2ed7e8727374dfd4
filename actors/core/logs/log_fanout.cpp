#include "actors/core/logs/log_fanout.hpp"

#include "actors/core/logs/log_selection.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

static_assert(log_fanout::share_min - log_fanout::share_min / 4
              >= log_line_cost_max);

std::optional<uint64_t> log_fanout::begin(const std::set<agent_id>& agents,
                                          uint32_t window, bool follows) {
  if (readings_.size() == reading_count_max)
    return std::nullopt;
  const auto count = std::clamp<size_t>(agents.size(), 1, agent_count_max);
  const auto id = ++last_reading_;
  auto& x = readings_[id];
  x.share
    = std::clamp(static_cast<uint32_t>(window / count), share_min, share_max);
  x.follows = follows;
  for (const auto& agent : agents)
    add(id, agent);
  return id;
}

uint32_t log_fanout::share_of(uint64_t reading) const {
  return readings_.at(reading).share;
}

bool log_fanout::add(uint64_t reading, const agent_id& agent) {
  const auto i = readings_.find(reading);
  if (i == readings_.end() || i->second.parts.size() == agent_count_max)
    return false;
  return i->second.parts
    .emplace(agent, participant{credit_window{i->second.share}})
    .second;
}

bool log_fanout::sent(uint64_t reading, const agent_id& agent, size_t cost) {
  const auto i = readings_.find(reading);
  if (i == readings_.end())
    return false;
  auto& x = i->second;
  const auto sender = x.parts.find(agent);
  if (sender == x.parts.end() || !sender->second.window.take(cost))
    return false;
  if (cost > 0)
    x.deliveries.push_back({agent, cost});
  return true;
}

std::vector<credit_grant> log_fanout::taken(uint64_t reading, uint64_t size) {
  auto out = std::vector<credit_grant>{};
  const auto i = readings_.find(reading);
  if (i == readings_.end())
    return out;
  auto& x = i->second;
  auto changed = std::set<agent_id>{};
  while (size > 0 && !x.deliveries.empty()) {
    auto& first = x.deliveries.front();
    const auto part = std::min(size, first.cost);
    size -= part;
    first.cost -= part;
    if (const auto reader = x.parts.find(first.agent);
        reader != x.parts.end()) {
      reader->second.owed += static_cast<uint32_t>(part);
      changed.insert(first.agent);
    }
    if (first.cost == 0)
      x.deliveries.pop_front();
  }
  for (const auto& agent : changed) {
    auto& reader = x.parts.at(agent);
    if (reader.owed < x.share / 4)
      continue;
    reader.window.add(reader.owed);
    out.push_back({agent, std::exchange(reader.owed, 0)});
  }
  return out;
}

bool log_fanout::ended(uint64_t reading, const agent_id& agent) {
  const auto i = readings_.find(reading);
  if (i == readings_.end() || i->second.parts.erase(agent) == 0
      || !i->second.parts.empty())
    return false;
  readings_.erase(i);
  return true;
}

bool log_fanout::lost(uint64_t reading, const agent_id& agent) {
  const auto i = readings_.find(reading);
  if (i == readings_.end() || !i->second.follows)
    return ended(reading, agent);
  i->second.parts.erase(agent);
  // When it comes back it has all its credit: what is under way adds none.
  for (auto& x : i->second.deliveries)
    if (x.agent == agent)
      x.agent = {};
  return false;
}

std::set<agent_id> log_fanout::end(uint64_t reading) {
  auto out = std::set<agent_id>{};
  if (const auto x = readings_.extract(reading))
    for (const auto& [agent, part] : x.mapped().parts)
      out.insert(agent);
  return out;
}

std::vector<uint64_t> log_fanout::readings_of(const agent_id& agent) const {
  auto out = std::vector<uint64_t>{};
  for (const auto& [id, x] : readings_)
    if (x.parts.contains(agent))
      out.push_back(id);
  return out;
}

} // namespace actorrun::core
