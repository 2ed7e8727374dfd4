// Encodes values as CBOR, within limits.
#pragma once

#include "messages/result.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace actorrun::detail {

using bytes = std::vector<uint8_t>;

/// @retval errc::bad_argument  it is nested deeper than `value_depth_max`, or
///         needs more than `size_max` bytes; the text continues `it is …`
result<bytes> encode(const nlohmann::json& value, size_t size_max);

/// @param data Untrusted.
/// @retval errc::bad_argument  it holds no value, or one that nests too deep
result<nlohmann::json> decode(std::span<const uint8_t> data);

} // namespace actorrun::detail
