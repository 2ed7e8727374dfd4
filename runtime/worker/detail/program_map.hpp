// Finds the program or library and the function of an address.
#pragma once

#include "runtime/worker/detail/symbol_table.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace actorrun::recording {

/// Where an address is.
struct place {
  std::string_view file; ///< Empty: not known.
  uintptr_t offset = 0;  ///< In the file's own addresses: for `addr2line`.
  symbol function;
};

/// At most this many libraries are recorded.
inline constexpr size_t modules_max = 1'024;

/// Records what is loaded now. Takes the loader's lock: not async-signal-safe.
void map_program();

/// Says whether there is a program or library at an address. Async-signal-safe,
/// and never a fault.
bool is_code(uintptr_t address);

/// Finds an address among what was loaded at the last `map_program`, else the
/// file that the kernel has mapped there now. Async-signal-safe but for faults:
/// see `symbol_table`. One thread at a time.
place find_place(uintptr_t address);

} // namespace actorrun::recording
