// Assigns ranks to the slots that agents offer.
#pragma once

#include "actors/core/generation.hpp"
#include "messages/result.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace actorrun::core {

/// At most this many agents in one generation.
inline constexpr uint32_t agents_per_generation_max = 100'000;

/// Compares host names in natural order: digits by their value, so that `node2`
/// comes before `node10`. A total order; equal only for equal texts.
bool natural_less(std::string_view a, std::string_view b);

/// Gives every offered slot a global rank.
///
/// Node ranks follow the order of the offers. The worker in slot `i` of
/// placement `p` has local rank `i`, global rank `p.first_global_rank + i` and
/// role rank `p.first_role_rank + i`.
///
/// @param offers N offers, one per agent; N may be 0. Slot counts are in
///               workers, 1..`slots_per_agent_max`.
/// @returns N placements by ascending node rank 0..N-1. Their slot counts sum
///          to the world size W; the global ranks are exactly 0..W-1. Within
///          each role the role ranks are exactly 0..R-1.
/// @retval errc::bad_slot_count   a slot count is out of its range
/// @retval errc::duplicate_agent  two offers name the same agent
/// @retval errc::too_many_agents  N > `agents_per_generation_max`
/// @complexity O(N log N) time, O(N) memory.
/// @see torch/distributed/elastic/agent/server/api.py assigns ranks by running
///      sums in group-rank order; so do we, for uneven nodes and roles too.
result<std::vector<placement>> assign_ranks(std::span<const offer> offers);

} // namespace actorrun::core
