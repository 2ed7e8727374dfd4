#include "actors/core/protocol/rank_assignment.hpp"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace actorrun::core {

namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Cuts the leading run of digits, or of non-digits, off `text`.
std::string_view cut_run(std::string_view& text) {
  const auto digits = is_digit(text.front());
  size_t n = 1;
  while (n < text.size() && is_digit(text[n]) == digits)
    ++n;
  const auto run = text.substr(0, n);
  text.remove_prefix(n);
  return run;
}

std::string_view without_zeros(std::string_view number) {
  const auto n = number.find_first_not_of('0');
  return n == number.npos ? std::string_view{} : number.substr(n);
}

/// Negative, zero or positive, as the runs compare.
int compare_runs(std::string_view a, std::string_view b) {
  if (!is_digit(a.front()) || !is_digit(b.front()))
    return a.compare(b);
  const auto x = without_zeros(a);
  const auto y = without_zeros(b);
  if (x.size() != y.size())
    return x.size() < y.size() ? -1 : 1;
  return x.compare(y);
}

} // namespace

bool natural_less(std::string_view a, std::string_view b) {
  auto x = a;
  auto y = b;
  while (!x.empty() && !y.empty()) {
    const auto order = compare_runs(cut_run(x), cut_run(y));
    if (order != 0)
      return order < 0;
  }
  if (x.empty() != y.empty())
    return x.empty();
  return a < b; // They differ in leading zeros at most.
}

result<std::vector<placement>> assign_ranks(std::span<const offer> offers) {
  if (offers.size() > agents_per_generation_max)
    return failure{errc::too_many_agents,
                   std::to_string(offers.size()) + " agents offer their slots"};
  auto placements = std::vector<placement>{};
  placements.reserve(offers.size());
  auto names = std::unordered_set<agent_id>{};
  auto role_sizes = std::map<std::string_view, uint32_t>{};
  uint32_t world_size = 0;
  for (const auto& x : offers) {
    if (x.slot_count < 1 || x.slot_count > slots_per_agent_max)
      return failure{errc::bad_slot_count, x.agent.value + " offers "
                                             + std::to_string(x.slot_count)
                                             + " slots"};
    if (!names.insert(x.agent).second)
      return failure{errc::duplicate_agent, x.agent.value + " offers twice"};
    auto& role_size = role_sizes[x.role];
    placements.push_back({.agent = x.agent,
                          .node_rank = uint32_t(placements.size()),
                          .slot_count = x.slot_count,
                          .first_global_rank = world_size,
                          .first_role_rank = role_size});
    world_size += x.slot_count;
    role_size += x.slot_count;
  }
  for (size_t i = 0; i < placements.size(); ++i)
    placements[i].role_world_size = role_sizes[offers[i].role];
  return placements;
}

} // namespace actorrun::core
