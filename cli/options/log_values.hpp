// Reads values of the options about workers' output: streams by rank, sets of
// ranks, filters, sizes.
#pragma once

#include "actors/core/workers/worker_outputs.hpp"
#include "messages/result.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::cli {

// Every function here returns errc::bad_argument with a text that quotes what
// was typed and says what would have been right.

/// `MASK` for all local ranks, or `RANK:MASK,RANK:MASK`, where ranks that are
/// not named have none. Masks: 0 none, 1 stdout, 2 stderr, 3 both.
/// @see torchrun.md 5.3. We take ranks of more than one digit and refuse one
///      that stands twice.
result<core::stream_choice> parse_stream_choice(std::string_view text);

/// `0,1,12`.
/// @returns nothing for an empty text, which stands for all ranks
result<std::optional<std::set<uint32_t>>>
parse_local_ranks(std::string_view text);

/// `one,another`; a double comma is a comma within a filter, white space is
/// part of it. An empty text has none.
result<std::vector<std::string>> parse_filters(std::string_view text);

/// Bytes, or a number with K, M or G for 2^10, 2^20 or 2^30 of them.
/// @returns 0, or `core::rotate_size_min`..`rotate_size_max`
result<uint64_t> parse_rotate_size(std::string_view text);

} // namespace actorrun::cli
