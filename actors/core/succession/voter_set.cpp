#include "actors/core/succession/voter_set.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>

namespace actorrun::core {

namespace {

using agents = std::vector<agent_id>;

bool has_majority_of(const agents& voters, const std::set<agent_id>& of) {
  const auto count = std::ranges::count_if(
    voters, [&](const auto& x) { return of.contains(x); });
  return 2 * size_t(count) > voters.size();
}

std::set<std::string> hosts_of(const std::vector<voter_candidate>& xs) {
  auto out = std::set<std::string>{};
  for (const auto& x : xs)
    out.insert(x.host);
  return out;
}

size_t voter_count(size_t host_count) {
  return host_count >= voters_max ? voters_max : host_count >= 3 ? 3 : 1;
}

} // namespace

voter_set voter_set::changing_to(agents next) const {
  assert(!is_changing());
  auto out = voter_set{std::move(next)};
  out.former_ = newest_;
  return out;
}

agents voter_set::all() const {
  auto out = newest_;
  for (const auto& x : former_)
    if (!is_in(newest_, x))
      out.push_back(x);
  return out;
}

bool voter_set::contains(const agent_id& who) const {
  return is_in(newest_, who) || is_in(former_, who);
}

bool voter_set::has_majority(const std::set<agent_id>& of) const {
  return has_majority_of(newest_, of)
         && (former_.empty() || has_majority_of(former_, of));
}

std::optional<time_point>
voter_set::majority_time(const std::map<agent_id, time_point>& reached,
                         const std::set<agent_id>& always) const {
  if (has_majority(always))
    return time_point::max();
  auto latest = std::optional<time_point>{};
  for (const auto& [_, time] : reached) {
    auto have = always;
    for (const auto& [who, x] : reached)
      if (x >= time)
        have.insert(who);
    if (has_majority(have) && (!latest || time > *latest))
      latest = time;
  }
  return latest;
}

agents choose_voters(const std::vector<voter_candidate>& here,
                     const agent_id& leader, const agents& current) {
  auto ranked = here;
  const auto rank = [&](const voter_candidate& x) {
    return std::tuple{x.agent != leader, !x.is_home, !x.is_witness,
                      !is_in(current, x.agent), x.agent};
  };
  std::ranges::sort(ranked, {}, rank);
  const auto count = voter_count(hosts_of(here).size());
  auto chosen = std::vector<voter_candidate>{};
  // The second round takes what the first has left for its zone.
  for (const auto needs_own_zone : {true, false})
    for (const auto& x : ranked) {
      const auto clashes = [&](const voter_candidate& y) {
        return y.host == x.host
               || (needs_own_zone && !x.zone.empty() && y.zone == x.zone);
      };
      if (chosen.size() < count && std::ranges::none_of(chosen, clashes))
        chosen.push_back(x);
    }
  auto out = agents{};
  for (const auto& x : chosen)
    out.push_back(x.agent);
  std::ranges::sort(out);
  return out;
}

agents order_of(const voter_set& voters, const agent_id& leader,
                const std::vector<voter_candidate>& here) {
  auto out = agents{leader};
  for (const auto& x : voters.all())
    if (x != leader)
      out.push_back(x);
  auto hosts = std::set<std::string>{};
  for (const auto& x : here)
    if (is_in(out, x.agent))
      hosts.insert(x.host);
  auto deputies = here;
  std::erase_if(deputies, [&](const auto& x) { return is_in(out, x.agent); });
  std::ranges::sort(deputies, {}, [&](const voter_candidate& x) {
    return std::tuple{hosts.contains(x.host), !x.is_witness, x.agent};
  });
  if (!deputies.empty())
    out.push_back(deputies.front().agent);
  return out;
}

bool is_in(const std::vector<agent_id>& xs, const agent_id& x) {
  return std::ranges::find(xs, x) != xs.end();
}

bool is_at(const agent_id& who, const endpoint_list& endpoints,
           const std::string& named) {
  if (named.empty())
    return false;
  if (who.value == named)
    return true;
  const auto id = std::string{who.value};
  if (id.starts_with(named + '-')
      && std::count(id.begin() + std::ssize(named) + 1, id.end(), '-') == 1)
    return true;
  const auto i = endpoints.find(who);
  if (i == endpoints.end())
    return false;
  auto host = i->second.substr(0, i->second.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']'))
    host = host.substr(1, host.size() - 2);
  return host == named;
}

endpoint_list endpoints_of(const agents& order,
                           const std::vector<voter_candidate>& here,
                           const endpoint_list& before) {
  auto out = endpoint_list{};
  for (const auto& x : order) {
    const auto told = std::ranges::find(here, x, &voter_candidate::agent);
    if (told != here.end() && !told->endpoint.empty())
      out.emplace(x, told->endpoint);
    else if (const auto i = before.find(x); i != before.end())
      out.insert(*i);
  }
  return out;
}

} // namespace actorrun::core
