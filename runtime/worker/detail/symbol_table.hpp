// Finds functions in the symbol table of a loaded program or library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <link.h>

namespace actorrun::recording {

/// A function that contains an address. The name is empty if none is known.
struct symbol {
  std::string_view name;
  uintptr_t offset = 0; ///< Of the address in the function.
};

/// Symbols and their names, somewhere in memory. All reading is
/// async-signal-safe, and at worst a fault: libraries can go away.
struct symbol_table {
  const ElfW(Sym) * symbols = nullptr;
  size_t count = 0; ///< 0: see the hash tables.
  const uint32_t* gnu_hash = nullptr;
  const ElfW(Word) * hash = nullptr;
  const char* names = nullptr;
  size_t names_size = 0; ///< In bytes.

  /// @param address Counted from where the file's addresses begin.
  /// @complexity linear in the number of symbols
  symbol find(uintptr_t address) const;
};

/// Names that are longer are cut.
inline constexpr size_t symbol_name_max = 600;

/// What a loaded program or library shows of itself to others.
/// @param bias What is added to the file's addresses in memory.
symbol_table dynamic_symbols(const ElfW(Dyn) * dynamic, uintptr_t bias);

/// All symbols of the running program, unless they have been stripped; maps its
/// file, for as long as the program runs.
symbol_table own_symbols();

} // namespace actorrun::recording
