// Reads values of options: numbers, times, node ranges, endpoints.
#pragma once

#include "messages/result.hpp"
#include "runtime/options.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actorrun::cli {

// Every function here returns errc::bad_argument with a text that quotes what
// was typed and says what would have been right.

/// `text` in double quotes, as messages show it.
std::string in_quotes(std::string_view text);

/// `text` without white space at both ends.
std::string_view trimmed(std::string_view text);

/// The parts of `text` between separators, one more than there are of those.
std::vector<std::string_view> split(std::string_view text, char separator);

/// The parts with `separator` between them.
std::string joined_with(const std::vector<std::string>& parts,
                        std::string_view separator);

/// What a name stands for in a table; nothing if it is not there.
template <class T, size_t N>
std::optional<T> value_of(std::string_view name,
                          const std::pair<std::string_view, T> (&table)[N]) {
  for (const auto& [known, value] : table)
    if (known == name)
      return value;
  return std::nullopt;
}

/// An integer in `min`..`max`.
result<uint32_t> parse_count(std::string_view text, uint32_t min, uint32_t max);

/// `parse_count` with its bounds, for the readers of options.
inline auto count_parser(uint32_t min, uint32_t max) {
  return [=](std::string_view text) { return parse_count(text, min, max); };
}

/// What people are to read, or a name, of at most `text_size_max` bytes.
inline constexpr size_t text_size_max = 4'096;
result<std::string> parse_text(const std::string& text);

/// Where a file was asked for there must be one.
result<std::string> parse_file_name(const std::string& text);

/// A finite number above 0.
result<double> parse_positive(std::string_view text);

/// torchrun's words: 1, true, t, yes, y and 0, false, f, no, n, in any case.
result<bool> parse_bool_word(std::string_view text);

/// The value of a variable that stands for a flag: an integer, 0 or nothing
/// for off. torchrun reads its flags in this way.
result<bool> parse_flag_variable(std::string_view text);

/// Seconds, or a number with the unit `ms`, `s` or `m`: `30`, `0.5`, `300ms`.
/// @returns `min`..`max`
result<std::chrono::milliseconds>
parse_span(std::string_view text,
           std::chrono::milliseconds min = std::chrono::milliseconds{1},
           std::chrono::milliseconds max = timeout_max);

/// `parse_span` with its least value, for the readers of options.
inline auto span_parser(std::chrono::milliseconds min) {
  return [=](std::string_view text) { return parse_span(text, min); };
}

/// Whole seconds, 0..`timeout_max`.
result<std::chrono::milliseconds> parse_whole_seconds(std::string_view text);

/// debug, info, warning, error or critical, in any case.
/// @returns it as jobs are asked for it: `DEBUG`
result<std::string> parse_log_level(std::string_view text);

/// How many nodes: exactly `max` when both are equal.
struct node_range {
  uint32_t min = 1;
  uint32_t max = 1; ///< `min`..`core::agents_per_generation_max`.

  friend bool operator==(const node_range&, const node_range&) = default;
};

/// `N` or `MIN:MAX`.
result<node_range> parse_node_range(std::string_view text);

/// `host`, `host:port`, `[v6]`, `[v6]:port`, `:port` (the host is empty). Port 0
/// and an empty host pass: on one node they do not matter.
/// @param default_port If `text` has none.
/// @pre `text` is not empty
result<endpoint> parse_endpoint(std::string_view text,
                                uint16_t default_port = endpoint{}.port);

/// A list of them with commas between; at least one.
/// @pre `text` is not empty
result<std::vector<endpoint>>
parse_endpoints(std::string_view text, uint16_t default_port = endpoint{}.port);

} // namespace actorrun::cli
