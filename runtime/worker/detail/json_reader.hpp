// Parses small JSON texts from a peer that is not believed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actorrun::worker {

/// Arrays and objects nest at most this deep.
inline constexpr int json_depth_max = 16;

struct json_value {
  enum class kind : uint8_t { null, boolean, number, text, array, object };

  /// The last member of that name; null if there is none.
  const json_value* find(std::string_view name) const;

  /// None unless it is a whole number from 0 on without an exponent.
  std::optional<uint64_t> as_number() const;

  kind is = kind::null;
  /// Of a number as it was written, of a boolean `true` or `false`.
  std::string text{};
  std::vector<json_value> items{};
  std::vector<std::pair<std::string, json_value>> members{};
};

/// @returns nothing if it is not JSON in UTF-8, or deeper than `json_depth_max`. A
///          half of a surrogate pair becomes U+FFFD.
std::optional<json_value> parse_json(std::string_view text);

/// Appends a text in quotes. What is not UTF-8 becomes `?`.
void append_json(std::string& out, std::string_view text);

} // namespace actorrun::worker
