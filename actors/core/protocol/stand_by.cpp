#include "actors/core/protocol/stand_by.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace actorrun::core {

std::optional<report_stand_by> stand_by::charge(const agent_id& agent,
                                                time_point when,
                                                const std::string& reason) {
  auto* record = agents_.find(agent);
  const auto* gone = agents_.find_gone(agent.value);
  if (record == nullptr && gone == nullptr)
    return std::nullopt;
  const auto host = record != nullptr ? record->offering.host : gone->host;
  auto is_taken_over = false;
  if (record == nullptr) {
    record = find_successor(host);
    costs_.node_is_gone(agent);
    if (record != nullptr) {
      const auto& id = record->offering.agent;
      costs_.node_is_here(id, host, now_);
      is_taken_over = costs_.stands_by(id) && !record->stands_by;
    }
  }
  const auto who = record != nullptr ? record->offering.agent : agent;
  costs_.add_loss(who, host, when);
  if (record == nullptr)
    costs_.node_is_gone(who);
  else if (!record->connected)
    costs_.node_is_away(who);
  const auto others = agents_.counts().candidates
                      - (record != nullptr && record->is_candidate() ? 1 : 0);
  const auto is_due = costs_.is_too_costly(who) && others >= count_min_;
  if (is_due)
    costs_.stand_by(who);
  follow(host);
  if (!is_due && !is_taken_over)
    return std::nullopt;
  return report_stand_by{who, host, costs_.text(who) + ", the last: " + reason};
}

// It may have been started again while the generation was being stopped.
agent_record* stand_by::find_successor(const std::string& host) {
  agent_record* out = nullptr;
  for (const auto& [id, x] : agents_.records())
    if (x.offering.host == host && x.member_of.value == 0
        && (out == nullptr || x.arrival > out->arrival))
      out = agents_.find(id);
  return out;
}

report_return stand_by::let_in(const agent_record& record, std::string reason) {
  const auto& x = record.offering;
  costs_.let_in(x.agent);
  follow(x.host);
  return {x.agent, x.host, std::move(reason)};
}

// Two agents of one host can be one node: the older one may be gone.
void stand_by::follow(const std::string& host) {
  for (const auto& [id, x] : agents_.records())
    if (x.offering.host == host && x.stands_by != costs_.stands_by(id))
      agents_.change(*agents_.find(id),
                     [](auto& y) { y.stands_by = !y.stands_by; });
}

std::vector<report_return> stand_by::let_in_those_due() {
  auto out = std::vector<report_return>{};
  for (const auto& [id, x] : agents_.records())
    if (const auto due = costs_.due(id); due && *due <= now_)
      out.push_back(let_in(x, "it has been reachable for long enough"));
  return out;
}

std::vector<report_return> stand_by::let_in_for_minimum() {
  auto out = std::vector<report_return>{};
  if (agents_.counts().candidates >= count_min_ || !costs_.next_due())
    return out; // All others are let in already.
  for (const auto& [id, x] : agents_.records())
    if (x.stands_by && agents_.counts().candidates < count_min_)
      out.push_back(let_in(x, "too few other nodes are here"));
  return out;
}

std::string stand_by_text(const agent_record& x, const generation_costs& costs,
                          time_point now) {
  const auto& offer = x.offering;
  const auto due = costs.due(offer.agent);
  const auto seconds = [&](time_point until) {
    using std::chrono::seconds;
    const auto left = std::max(until - now, duration::zero());
    return std::to_string(std::chrono::ceil<seconds>(left).count()) + " s";
  };
  return "stands by, because it has " + costs.text(offer.agent)
         + (due
              ? "; may take part in " + seconds(*due) + " if it stays reachable"
              : "; must be reachable for a while first")
         + "; to let it in at once: actorctl include " + offer.host;
}

} // namespace actorrun::core
