// Asks NCCL's RAS service, which runs in the workers, how its processes are doing.
#pragma once

#include "actors/core/time.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace actorrun::detail {

/// What tells NCCL where its RAS service listens, of the first process of a node that
/// comes (docs.nvidia.com, NCCL_RAS_ADDR).
inline constexpr auto ras_variable = "NCCL_RAS_ADDR";

inline constexpr size_t ras_answer_max = 1024 * 1024;

/// Whether workers with this environment have no such service: `NCCL_RAS_ENABLE=0`.
bool is_ras_off(std::span<const std::string> environment);

/// The port on this host that workers with this environment have.
/// @returns nothing: it is off, or another host's
std::optional<uint16_t> ras_port_of(std::span<const std::string> environment);

/// A port of loopback that was free just now; 0: there is none.
uint16_t free_ras_port();

/// Blocks until all has come, or until the deadline.
/// @returns at most `ras_answer_max` bytes, also part of an answer; empty: no process
///          answers there
std::string ask_ras(uint16_t port, core::time_point deadline);

} // namespace actorrun::detail
