#include "actors/core/protocol/generation_costs.hpp"

#include "actors/core/text.hpp"

#include <algorithm>
#include <cassert>
#include <functional>
#include <utility>

namespace actorrun::core {

namespace {

/// A node that is killed and comes back, once or twice, waits for nothing.
constexpr uint32_t free_count = 2;

/// A node that stands by for the first time must be reachable for this part of the
/// window: 5 s of a minute.
constexpr int first_stay_part = 12;

/// It stands by for the first time again when it has cost nothing for so many
/// windows.
constexpr int memory_in_windows = 5;

} // namespace

generation_costs::generation_costs(duration first, duration window,
                                   uint32_t failure_count_max)
  : first_(std::min(first, window)), window_(window),
    failure_count_max_(failure_count_max) {
  assert(first > duration::zero() && window > duration::zero());
}

// -- nodes come and go ----------------------------------------------------------

void generation_costs::node_is_here(const agent_id& agent,
                                    const std::string& host, time_point now) {
  auto* known = find(agent);
  if (known == nullptr)
    known = find_absent(host);
  if (known == nullptr)
    return;
  auto& all = known->incarnations;
  std::erase_if(all, [](const auto& x) { return x.state == presence::gone; });
  auto i = std::ranges::find(all, agent, &incarnation::agent);
  if (i == all.end())
    i = all.insert(i, {agent});
  i->state = presence::here;
  if (!known->here_since)
    known->here_since = now;
}

void generation_costs::node_is_away(const agent_id& agent) {
  set(agent, presence::away);
}

void generation_costs::node_is_gone(const agent_id& agent) {
  set(agent, presence::gone);
}

void generation_costs::set(const agent_id& agent, presence state) {
  auto* known = find(agent);
  if (known == nullptr)
    return;
  auto is_here = false;
  for (auto& x : known->incarnations) {
    if (x.agent == agent)
      x.state = state;
    is_here |= x.state == presence::here;
  }
  if (!is_here)
    known->here_since.reset();
}

const generation_costs::node*
generation_costs::find(const agent_id& agent) const {
  const auto i = std::ranges::find_if(nodes_, [&](const node& x) {
    return std::ranges::find(x.incarnations, agent, &incarnation::agent)
           != x.incarnations.end();
  });
  return i == nodes_.end() ? nullptr : &*i;
}

// Of several, the one that has cost something last.
generation_costs::node* generation_costs::find_absent(const std::string& host) {
  auto* out = static_cast<node*>(nullptr);
  for (auto& x : nodes_)
    if (!x.here_since && x.host == host
        && (out == nullptr || x.costs.front() > out->costs.front()))
      out = &x;
  return out;
}

generation_costs::node* generation_costs::find(const agent_id& agent) {
  return const_cast<node*>(std::as_const(*this).find(agent));
}

// -- what they cost -------------------------------------------------------------

void generation_costs::generation_begins(time_point now) {
  // The last one has ended for newcomers, or for a failure.
  if (!is_counted_ && now - begun_ >= window_)
    reset();
  begun_ = now;
  is_counted_ = false;
}

void generation_costs::member_departs(time_point now) {
  if (std::exchange(is_counted_, true))
    return;
  if (now - begun_ >= window_)
    return reset();
  ++short_generations_;
  if (short_generations_ > free_count)
    wait_ = wait_ == duration::zero() ? first_ : std::min(2 * wait_, window_);
}

void generation_costs::reset() {
  short_generations_ = 0;
  wait_ = {};
}

void generation_costs::add_loss(const agent_id& agent, const std::string& host,
                                time_point when) {
  forget_old(when);
  auto* known = find(agent);
  if (known == nullptr) {
    if (nodes_.size() >= costly_nodes_max)
      nodes_.erase(std::ranges::min_element(
        nodes_, {}, [](const node& x) { return x.costs.front(); }));
    known = &nodes_.emplace_back();
    known->incarnations.push_back({agent});
    known->host = host;
    known->here_since = when;
  }
  add_cost(*known, when);
  known->is_too_costly
    = known->costs.back() && when - *known->costs.back() < window_;
}

void generation_costs::add_return(const agent_id& agent, time_point when) {
  if (auto* x = find(agent))
    add_cost(*x, when);
}

void generation_costs::add_cost(node& x, time_point when) {
  std::ranges::rotate(x.costs, std::prev(x.costs.end()));
  x.costs.front() = when;
}

bool generation_costs::add_failure(const std::string& host) {
  if (failure_count_max_ == 0
      || (failures_.size() >= failing_hosts_max && !failures_.contains(host)))
    return false;
  return ++failures_[host] >= failure_count_max_;
}

void generation_costs::forget_old(time_point now) {
  std::erase_if(nodes_, [&](const node& x) {
    return !x.stands_by
           && now - *x.costs.front() >= memory_in_windows * window_;
  });
}

// -- what follows ---------------------------------------------------------------

bool generation_costs::is_too_costly(const agent_id& agent) const {
  const auto* x = find(agent);
  return x != nullptr && x->is_too_costly;
}

std::string generation_costs::text(const agent_id& agent) const {
  const auto* x = find(agent);
  if (x == nullptr || !x->costs.back())
    return {};
  return "cost " + std::to_string(loss_count_max) + " generations within "
         + duration_text(*x->costs.front() - *x->costs.back());
}

void generation_costs::stand_by(const agent_id& agent) {
  auto* x = find(agent);
  assert(x != nullptr && x->is_too_costly);
  x->stands_by = true;
  ++x->stays;
}

bool generation_costs::stands_by(const agent_id& agent) const {
  const auto* x = find(agent);
  return x != nullptr && x->stands_by;
}

duration generation_costs::time_to_be_reachable(const node& x) const {
  auto out = window_ / first_stay_part;
  for (auto i = uint32_t{1}; i < x.stays && out < window_; ++i)
    out *= 2;
  return std::min(out, window_);
}

std::optional<time_point> generation_costs::due(const agent_id& agent) const {
  const auto* x = find(agent);
  if (x == nullptr || !x->stands_by || !x->here_since)
    return std::nullopt;
  // Its return is the next cost, and may be followed by a loss.
  return std::max(*x->here_since + time_to_be_reachable(*x),
                  x->costs[1].value_or(*x->costs[0]) + window_);
}

std::optional<time_point> generation_costs::next_due() const {
  auto out = std::optional<time_point>{};
  for (const auto& x : nodes_)
    if (const auto at = due(x.incarnations.back().agent);
        at && (!out || *at < *out))
      out = at;
  return out;
}

void generation_costs::let_in(const agent_id& agent) {
  if (auto* x = find(agent))
    x->stands_by = x->is_too_costly = false;
}

void generation_costs::forgive(const std::string& host) {
  failures_.erase(host);
  std::erase_if(nodes_, [&](const node& x) { return x.host == host; });
}

uint32_t generation_costs::failure_count(const std::string& host) const {
  const auto i = failures_.find(host);
  return i == failures_.end() ? 0 : i->second;
}

std::vector<failing_host> generation_costs::failing_hosts() const {
  auto out = std::vector<failing_host>{};
  for (const auto& [host, count] : failures_)
    out.push_back({host, count});
  std::ranges::stable_sort(out, std::ranges::greater{},
                           &failing_host::failure_count);
  if (out.size() > told_hosts_max)
    out.resize(told_hosts_max);
  return out;
}

void generation_costs::know_failures(const std::vector<failing_host>& hosts) {
  if (failure_count_max_ == 0)
    return;
  for (const auto& x : hosts)
    if (failures_.contains(x.host) || failures_.size() < failing_hosts_max)
      failures_[x.host] = std::max(failures_[x.host], x.failure_count);
}

} // namespace actorrun::core
