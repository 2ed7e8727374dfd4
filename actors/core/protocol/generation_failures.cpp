#include "actors/core/protocol/generation_failures.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

void generation_failures::add(const agent_id& agent, collateral failures,
                              time_point now) {
  for (auto& x : failures.listed)
    x.agent = agent;
  failures_.add(failures, now);
}

void generation_failures::add_departure(const agent_id& agent,
                                        end_reason reason) {
  departures_.push_back({agent, std::move(reason)});
}

const end_reason* generation_failures::exemption() const {
  const auto& cause = first();
  if (cause.kind == failure_kind::not_started)
    return nullptr;
  const auto i
    = std::find_if(departures_.rbegin(), departures_.rend(),
                   [&](const auto& x) { return x.agent != cause.agent; });
  return i == departures_.rend() ? nullptr : &i->reason;
}

} // namespace actorrun::core
