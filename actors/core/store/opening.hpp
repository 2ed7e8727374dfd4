// Says whether a connection may be that of a client of torch's store.
#pragma once

#include <cstdint>

namespace actorrun::core {

/// Whether torch's clients, of whatever version, begin with this byte: with
/// VALIDATE from 2.2 on, before with any request (docs/store.md).
constexpr bool may_begin_store_client(uint8_t first) {
  constexpr auto last_without_validation = uint8_t{11};
  return first <= last_without_validation;
}

} // namespace actorrun::core
