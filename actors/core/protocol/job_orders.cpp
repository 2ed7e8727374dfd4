#include "actors/core/protocol/job_orders.hpp"

#include "actors/core/protocol/rank_assignment.hpp"
#include "actors/core/text.hpp"

#include <cstddef>
#include <iterator>
#include <utility>

namespace actorrun::core {

namespace {

/// At most `count` of them.
std::vector<pending_drain> first(const std::vector<pending_drain>& of,
                                 size_t count) {
  return {of.begin(), of.begin() + std::ptrdiff_t(std::min(count, of.size()))};
}

} // namespace

job_orders::job_orders(const job_settings& settings,
                       std::chrono::milliseconds lease)
  : settings_(settings), lease_(lease) {
  charter_.settings = settings;
}

const pending_drain* job_orders::find_drain(const agent_id& agent) const {
  const auto i = std::ranges::find(drains_, agent, &pending_drain::agent);
  return i == drains_.end() ? nullptr : &*i;
}

// -- what was before -----------------------------------------------------------

void job_orders::begin(const charter& left, bool names_hosts, bool is_successor,
                       time_point now) {
  // Hosts stay excluded, whatever the job is by now.
  if (is_successor)
    take_over_exclusions(left.excluded, now);
  for (const auto& x : exclusions_.list())
    settled_hosts_.insert(x.host);
  charter_.excluded = exclusions_.list();
  revision_seen_ = left.revision;
  if (left.revision != 0)
    witnesses_.know(left, names_hosts);
}

void job_orders::trust(const charter& left, time_point now) {
  auto known = left;
  known.leader_group = 0;
  known.decided.reset();
  is_proved_ = take_over(known, now);
}

std::optional<charter> job_orders::hear(const agent_id& agent,
                                        const charter& told, time_point now) {
  revision_seen_ = std::max(revision_seen_, told.revision);
  if (is_proved_)
    return std::nullopt;
  auto known = witnesses_.hear(agent, told);
  if (known && !take_over(*known, now))
    known.reset();
  return known;
}

// It replaces what was taken over before.
bool job_orders::take_over(const charter& known, time_point now) {
  const auto& x = known.settings;
  if (x.agent_count_min < 1 || x.agent_count_min > x.agent_count_max
      || x.agent_count_max > agents_per_generation_max
      || x.ranked != settings_.ranked)
    return false;
  const auto own = settings_;
  if (!is_resized_here_) {
    settings_.agent_count_min = x.agent_count_min;
    settings_.agent_count_max = x.agent_count_max;
  }
  settings_.restart_count_max = x.restart_count_max;
  take_over_exclusions(known.excluded, now);
  if (!settings_.ranked)
    take_over_drains(known.drains);
  if (!is_resized_here_ && (known.is_resized || settings_ != own))
    resize_reason_ = {"an earlier coordinator of the job had "
                      + nodes_asked(settings_) + " nodes"};
  if (known.revision < charter_.revision)
    return true;
  // Agents know this; they are told what is different here.
  const auto lease = charter_.lease;
  charter_ = known;
  charter_.lease = lease;
  charter_.is_resized = !resize_reason_.empty();
  return true;
}

void job_orders::take_over_exclusions(const std::vector<excluded_host>& known,
                                      time_point now) {
  for (const auto& x : std::vector{exclusions_.list()})
    if (!settled_hosts_.contains(x.host))
      exclusions_.remove(x.host);
  for (auto x : known)
    if (is_host_text(x.host) && !settled_hosts_.contains(x.host)
        && !exclusions_.find(x.host) && !exclusions_.is_full()) {
      if (x.since == time_point{}) // Agents and etcd do not tell it.
        x.since = now;
      exclusions_.add(std::move(x));
    }
}

void job_orders::take_over_drains(const std::vector<pending_drain>& known) {
  const auto is_settled
    = [&](const auto& x) { return settled_drains_.contains(x.agent); };
  const auto outdated = std::exchange(drains_, known);
  std::erase_if(drains_, is_settled);
  std::ranges::copy_if(outdated, std::back_inserter(drains_), is_settled);
}

void job_orders::settle() {
  charter_.lease = lease_;
  witnesses_.close();
  settled_hosts_.clear();
  settled_drains_.clear();
}

// -- what is ordered here ------------------------------------------------------

void job_orders::resize(uint32_t min, uint32_t max, end_reason reason) {
  settings_.agent_count_min = min;
  settings_.agent_count_max = max;
  resize_reason_ = std::move(reason);
  is_resized_here_ = true;
}

void job_orders::raise_maximum(uint32_t max, end_reason reason) {
  settings_.agent_count_max = max;
  resize_reason_ = std::move(reason);
}

void job_orders::exclude(excluded_host x) {
  confirm_host(x.host);
  exclusions_.add(std::move(x));
}

void job_orders::exclude_listed(const std::vector<excluded_host>& hosts,
                                time_point now) {
  for (auto x : hosts)
    if (!exclusions_.find(x.host) && !exclusions_.is_full()) {
      x.since = now;
      exclude(std::move(x));
    }
}

bool job_orders::include(const std::string& host) {
  const auto is_changed = exclusions_.remove(host);
  if (is_changed)
    confirm_host(host);
  return is_changed;
}

void job_orders::add_drain(pending_drain x) {
  confirm_drain(x.agent);
  drains_.push_back(std::move(x));
}

void job_orders::withdraw_drain(const agent_id& agent) {
  confirm_drain(agent);
  erase_drains([&](const auto& x) { return x.agent == agent; });
}

// -- what agents must know -----------------------------------------------------

bool job_orders::revise(const restart_policy& budget,
                        std::vector<failing_host> failing, bool is_learning,
                        bool is_spending) {
  auto now = charter{.revision = charter_.revision,
                     .settings = settings_,
                     .is_resized = !resize_reason_.empty(),
                     .restart_count = budget.restart_count(),
                     .charged = budget.charged(),
                     .excluded = exclusions_.list(),
                     .failing = std::move(failing),
                     .drains = first(drains_, told_drains_max),
                     .lease = std::max(charter_.lease, lease_),
                     .newest = charter_.newest};
  const auto is_order = !are_orders_equal(now, charter_);
  const auto is_outdated = revision_seen_ > now.revision;
  const auto is_new
    = is_learning
        ? is_order
            || (is_spending && now.restart_count != charter_.restart_count)
        : is_outdated || now.revision == 0 || !is_same_job(now, charter_);
  if (!is_new)
    return false;
  now.revision = std::max(now.revision, revision_seen_) + 1;
  charter_ = std::move(now);
  return is_order || is_outdated;
}

} // namespace actorrun::core
