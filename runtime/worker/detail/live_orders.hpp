// Reads what an agent tells a live worker, and writes the worker's words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

// The format is that of docs/decisions/0041-live-workers-talk.md.
namespace actorrun::worker {

/// The version spoken here.
inline constexpr int live_version = 1;

/// Bytes of the longest packet, in both directions.
inline constexpr size_t live_packet_size_max = 4096;

struct generation_order {
  uint64_t number = 0;
  std::vector<std::pair<std::string, std::string>> environment{};
  /// First and last ranks of runs, in order.
  std::vector<std::pair<uint32_t, uint32_t>> survivors{};
  uint64_t restarts = 0;
  std::string reason{}; ///< One printable line, as all texts here.
};

struct regroup_order {
  std::string reason{};
};

struct hold_order {};

struct stop_at_order {
  uint64_t step = 0;
};

struct go_on_order {};

struct stop_order {
  std::string reason{};
};

/// The agent closes the connection after it.
struct refusal_order {
  std::string text{};
};

/// Of a later version.
struct unknown_order {};

using live_order
  = std::variant<generation_order, regroup_order, hold_order, stop_at_order,
                 go_on_order, stop_order, refusal_order, unknown_order>;

/// @returns nothing if it is none
std::optional<live_order> parse_order(std::string_view packet);

std::string hello_packet();
std::string parked_packet(uint64_t generation);
std::string trouble_packet(std::string_view text);
std::string step_packet(uint64_t step);
std::string held_packet(uint64_t generation, uint64_t step);
std::string reached_packet(uint64_t generation, uint64_t step);

/// The first line, of bounded length, without control characters.
std::string plain_line(std::string_view text);

} // namespace actorrun::worker
