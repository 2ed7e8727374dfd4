#include "actors/timed_sessions.hpp"

#include <limits>

namespace actorrun {

std::vector<core::timed_worker> timed_sessions::purge(core::time_point now) {
  auto out = std::vector<timed_worker>{};
  if (purged_at_ && now - *purged_at_ < session_purge_interval)
    return out;
  purged_at_ = now;
  for (const auto& [who, birth] : known_)
    if (port_->birth_of(who.process) != birth)
      out.push_back(who);
  for (const auto& x : out)
    known_.erase(x);
  return out;
}

bool timed_sessions::add(const timed_worker& who) {
  const auto birth = port_->birth_of(who.process);
  if (birth)
    known_.insert_or_assign(who, *birth);
  return birth.has_value();
}

bool timed_sessions::is_alive(const timed_worker& who) const {
  const auto i = known_.find(who);
  return i != known_.end() && port_->birth_of(who.process) == i->second;
}

std::vector<core::timed_worker>
timed_sessions::remove_of(generation_id generation, uint32_t local_rank) {
  const auto begin = known_.lower_bound({generation, local_rank, 0});
  const auto end = known_.upper_bound(
    {generation, local_rank, std::numeric_limits<int64_t>::max()});
  auto out = std::vector<timed_worker>{};
  for (auto i = begin; i != end; ++i)
    out.push_back(i->first);
  known_.erase(begin, end);
  return out;
}

} // namespace actorrun
