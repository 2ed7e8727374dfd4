#include "actors/core/generation.hpp"

#include "actors/core/text.hpp"

#include <algorithm>
#include <iterator>

namespace actorrun::core {

namespace {

/// Whether `count` ranks from `first` on are within `size`.
bool is_within(uint32_t first, uint32_t count, uint32_t size) {
  return uint64_t{first} + count <= size;
}

bool are_ordered(const rank_runs& runs, uint32_t world_size) {
  auto next = uint64_t{0};
  for (const auto& [first, last] : runs) {
    if (first < next || last < first || last >= world_size)
      return false;
    next = uint64_t{last} + 2; // Else they would be one.
  }
  return runs.size() <= rank_runs_max;
}

std::string trouble_with(const generation_plan& plan, const offer& own) {
  const auto& x = plan.own;
  if (x.agent != own.agent)
    return "is for another agent";
  if (x.slot_count != own.slot_count)
    return "starts " + std::to_string(x.slot_count)
           + " workers where the node offers " + std::to_string(own.slot_count);
  if (plan.generation.value == 0 || plan.generation > generation_max)
    return "has no number that a generation can have";
  if (x.node_rank >= plan.node_count || plan.node_count > plan.world_size
      || (own.node_rank && x.node_rank != own.node_rank))
    return "gives node rank " + std::to_string(x.node_rank) + " of "
           + std::to_string(plan.node_count);
  if (!is_within(x.first_global_rank, x.slot_count, plan.world_size)
      || !is_within(x.first_role_rank, x.slot_count, x.role_world_size)
      || x.role_world_size > plan.world_size)
    return "gives ranks from " + std::to_string(x.first_global_rank) + " on of "
           + std::to_string(plan.world_size);
  if (!is_host_text(plan.master_address) || plan.master_port == 0)
    return "has no MASTER_ADDR, or no MASTER_PORT, that can be one";
  if (x.lead_slot >= x.slot_count)
    return "gives its first rank to slot " + std::to_string(x.lead_slot)
           + " of " + std::to_string(x.slot_count);
  if (!are_ordered(plan.survivors, plan.world_size))
    return "names survivors that it cannot have";
  return {};
}

} // namespace

bool contains(const rank_runs& runs, uint32_t rank) {
  const auto after = std::upper_bound(
    runs.begin(), runs.end(), rank,
    [](uint32_t x, const auto& run) { return x < run.first; });
  return after != runs.begin() && rank <= std::prev(after)->second;
}

void append(rank_runs& runs, uint32_t rank) {
  if (!runs.empty() && runs.back().second + 1 == rank)
    runs.back().second = rank;
  else if (runs.size() < rank_runs_max)
    runs.emplace_back(rank, rank);
}

result<void> check_plan(const generation_plan& plan, const offer& own) {
  auto trouble = trouble_with(plan, own);
  if (trouble.empty())
    return {};
  return failure{errc::bad_plan, "the plan of generation "
                                   + to_string(plan.generation) + " "
                                   + std::move(trouble)};
}

std::string to_string(share_state x) {
  switch (x) {
    case share_state::idle:
      return "idle";
    case share_state::starting:
      return "starting";
    case share_state::running:
      return "running";
    case share_state::succeeded:
      return "succeeded";
    case share_state::failed:
      return "failed";
    case share_state::stopping:
      return "stopping";
  }
  return "unknown";
}

std::string to_string(outcome::verdict x) {
  switch (x) {
    case outcome::verdict::succeeded:
      return "succeeded";
    case outcome::verdict::failed:
      return "failed";
    case outcome::verdict::stopped:
      return "stopped";
    case outcome::verdict::unmet:
      return "unmet";
  }
  return "unknown";
}

} // namespace actorrun::core
