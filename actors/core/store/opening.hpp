// Says whether a connection is that of a client of torch's store.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace actorrun::core {

/// The first bytes of a connection, at most this many, decide.
inline constexpr size_t store_opening_max = 9;

struct store_opening {
  enum class verdict : uint8_t {
    open,   ///< Client or not: the first `wanted` bytes say more.
    client, ///< As torch's clients begin.
    other,  ///< No client of torch's begins so.
  };
  verdict is = verdict::open;
  size_t wanted = 1; ///< More than have come, if that is open.
};

/// Torch's clients begin with VALIDATE and its magic number from 2.2 on, before with
/// a request that has keys: its number, and in 64 bits how long the key is, or how
/// many there are (docs/store.md). A first request without keys is none of a client.
/// @param begin The first bytes, however many have come.
store_opening store_opening_of(std::string_view begin);

} // namespace actorrun::core
