// The bytes that clients of the store send, as three torch versions do.
#pragma once

#include "actors/core/store/request.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::test {

enum class torch { v1_13, v2_1, v2_14 };

template <class Int>
std::string store_int(Int x) {
  auto out = std::string{};
  for (size_t i = 0; i < sizeof x; ++i)
    out += static_cast<char>(static_cast<uint64_t>(x) >> (8 * i));
  return out;
}

inline std::string store_text(std::string_view x) {
  return store_int(static_cast<uint64_t>(x.size())) + std::string{x};
}

/// Where the numbers of the versions differ; see docs/store.md.
inline char store_opcode(torch version, core::store_verb verb) {
  const auto number = static_cast<char>(verb);
  switch (version) {
    case torch::v1_13:
      return static_cast<char>(
        verb == core::store_verb::delete_key ? number : number - 1);
    case torch::v2_1:
      return static_cast<char>(number - 1);
    case torch::v2_14:
      break;
  }
  return number;
}

/// One request.
inline std::string store_bytes(torch version, const core::store_request& x) {
  using enum core::store_verb;
  auto out = std::string{store_opcode(version, x.verb)};
  if (x.verb == check || x.verb == wait || x.verb == multi_get
      || x.verb == multi_set)
    out += store_int(static_cast<uint64_t>(x.keys.size()));
  if (x.verb == multi_set) {
    for (size_t i = 0; i < x.keys.size(); ++i)
      out += store_text(x.keys[i]) + store_text(x.values[i]);
    return out;
  }
  for (const auto& key : x.keys)
    out += store_text(key);
  for (const auto& value : x.values)
    out += store_text(value);
  if (x.verb == add || x.verb == barrier)
    out += store_int(x.number);
  if (x.verb == validate || x.verb == ping)
    out += store_int(static_cast<uint32_t>(x.number));
  return out;
}

/// What torch from 2.2 on sends first: its version, and a ping with its pid.
inline std::string store_hello(uint32_t nonce) {
  using enum core::store_verb;
  return store_bytes(torch::v2_14, {.verb = validate, .number = 0x3C85F7CE})
         + store_bytes(torch::v2_14, {.verb = ping, .number = nonce});
}

} // namespace actorrun::test
