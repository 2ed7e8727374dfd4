// Encodes the records of a journal as lines of JSON.
//
//   {"v": 1, "n": 12, "ns": 7311524…, "wall_ms": 1785500000123,
//    "what": "node_changed", "now": {"agent": "n1-4711-0badcafe", …}}
//
// A line with the name `snapshot` is what all records up to number `n` add up to:
// a file begins with one, or with the first record of its coordinator.
#pragma once

#include "actors/core/journal/snapshot.hpp"
#include "messages/result.hpp"

#include <string>
#include <string_view>
#include <variant>

namespace actorrun::detail {

/// Grows when a reader of the version before would misread a line; a new member
/// of an object, or a new kind of record, is no such change.
inline constexpr int journal_version = 2;

/// In bytes, with the line end; no line that we write is longer.
inline constexpr size_t journal_line_max = size_t{32} << 20;

/// With a line end.
std::string to_line(const core::journal::record& x);
std::string to_line(const core::journal::snapshot& x);

/// A kind of record that this program does not know.
struct unknown_record {
  std::string what;
};

using journal_line = std::variant<core::journal::record,
                                  core::journal::snapshot, unknown_record>;

/// @param text Without the line end.
/// @retval errc::bad_argument  it is no line of a journal, or of another version;
///         the text says which
result<journal_line> parse_journal_line(std::string_view text);

} // namespace actorrun::detail
