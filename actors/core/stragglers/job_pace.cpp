#include "actors/core/stragglers/job_pace.hpp"

#include "actors/core/stragglers/median.hpp"

#include <algorithm>
#include <utility>

namespace actorrun::core {

namespace {

/// From the median of the differences to the standard deviation of normal noise, in
/// ten-thousandths.
constexpr int64_t deviation_factor = 14'826;
constexpr int64_t deviation_unit = 10'000;

/// Workers of which one takes longer by less than this part are equally fast.
constexpr int64_t noise_part = 64;

/// Longer ones would overflow, and are no times of steps.
constexpr auto pace_max = duration{std::chrono::hours{24 * 7}};

duration usual_difference(std::vector<duration> times, duration usual) {
  for (auto& x : times)
    x = x < usual ? usual - x : x - usual;
  const auto middle = median_of(times);
  return std::max<duration>(middle * deviation_factor / deviation_unit,
                            usual / noise_part);
}

bool has(const paced_node& node, uint32_t rank) {
  return rank >= node.first_global_rank
         && rank - node.first_global_rank < node.slot_count;
}

} // namespace

void job_pace::note(const agent_id& agent, pace_report x) {
  for (auto& worker : x.workers) {
    worker.compute = std::clamp(worker.compute, duration{0}, pace_max);
    worker.least = std::clamp(worker.least, duration{0}, pace_max);
  }
  x.limits.distance = std::min(x.limits.distance, straggler_distance_max);
  said_[agent] = std::move(x);
}

/// @param distance The largest that a node has.
std::vector<job_pace::known_worker>
job_pace::known(const std::vector<paced_node>& members,
                uint32_t& distance) const {
  auto out = std::vector<known_worker>{};
  for (const auto& node : members) {
    const auto i = said_.find(node.agent);
    if (i == said_.end() || i->second.generation != found_in_)
      continue;
    const auto& said = i->second;
    distance = std::max(distance, said.limits.distance);
    auto ranks = std::set<uint32_t>{};
    for (const auto& x : said.workers)
      if (has(node, x.global_rank) && ranks.insert(x.global_rank).second)
        out.push_back({&node, x, said.limits.action});
  }
  return out;
}

bool job_pace::is_slow(const worker_pace& x, duration usual,
                       duration beyond) const {
  if (slow_.contains(x.global_rank))
    return x.compute > usual + beyond / 2;
  return x.compute > usual + beyond && x.least > usual + beyond / 2;
}

std::optional<straggler_finding>
job_pace::find(generation_id running, const std::vector<paced_node>& members) {
  if (std::exchange(found_in_, running) != running)
    slow_.clear();
  if (running.value == 0)
    return {};
  auto distance = uint32_t{0};
  const auto workers = known(members, distance);
  auto worker_count = size_t{0};
  for (const auto& node : members)
    worker_count += node.slot_count;
  if (workers.size() < workers_min || workers.size() * 2 < worker_count
      || distance == 0)
    return {};
  auto times = std::vector<duration>{};
  for (const auto& x : workers)
    times.push_back(x.pace.compute);
  const auto usual = median_of(times);
  const auto beyond = usual_difference(times, usual) * int64_t{distance};
  auto out = straggler_finding{.generation = running};
  auto slow = std::set<uint32_t>{};
  for (const auto& x : workers) {
    if (!is_slow(x.pace, usual, beyond))
      continue;
    slow.insert(x.pace.global_rank);
    out.named.push_back(
      {x.pace.global_rank, x.node->host, x.pace.compute, usual});
    out.nodes.emplace(x.node->agent, x.action);
  }
  if (std::exchange(slow_, slow) == slow)
    return {};
  std::ranges::stable_sort(out.named, std::ranges::greater{},
                           &straggler::compute);
  out.count = static_cast<uint32_t>(out.named.size());
  out.named.resize(std::min(out.named.size(), stragglers_named_max));
  return out;
}

} // namespace actorrun::core
