// Reads and writes the JSON of error files, as torch's `@record` writes it.
#pragma once

#include "messages/result.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// Keeps the order of its fields.
using error_document = nlohmann::ordered_json;

/// In bytes. A larger file is not read at all.
inline constexpr size_t error_file_size_max = size_t{1'024} * 1'024;

/// At most this deep, and at most this many values (members, elements).
inline constexpr int error_document_depth_max = 32;
inline constexpr size_t error_document_values_max = 1'000;

/// Reads an error file, which may be anything: see `open_regular_file`.
/// @returns nothing if there is none; else an object with a `message` that is a
///          string or an object
/// @retval errc::system_failure  it is not valid; the text continues "the error
///         file …", as in "ends too early"
result<std::optional<error_document>>
load_error_document(const std::string& path);

/// The same for its text.
result<error_document> parse_error_document(std::string_view text);

/// The text of a document as Python's `json.dump` has it: ASCII, with a space
/// behind each comma and colon.
std::string to_text(const error_document& x);

} // namespace actorrun::detail
