#include "runtime/worker/detail/symbol_table.hpp"

#include <algorithm>

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace actorrun::recording {

namespace {

// Nothing counts the symbols of a GNU hash table: the last chain ends at the
// last one. Its words: buckets, first symbol, bloom words, shift; then the bloom
// filter, the buckets, the chains. A chain ends with an odd word.
size_t count_of(const uint32_t* table) {
  const auto bucket_count = table[0];
  const auto first = table[1];
  const auto* buckets
    = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
  const auto* chains = buckets + bucket_count;
  auto last = uint32_t{0};
  for (uint32_t i = 0; i < bucket_count; ++i)
    last = std::max(last, buckets[i]);
  if (last < first)
    return first;
  while ((chains[last - first] & 1) == 0)
    ++last;
  return last + 1;
}

bool is_function(const ElfW(Sym) & x) {
  const auto type = ELF64_ST_TYPE(x.st_info);
  return (type == STT_FUNC || type == STT_GNU_IFUNC) && x.st_shndx != SHN_UNDEF;
}

/// A part of the program's file, if all of it is there.
template <class T>
const T* part_of(const char* file, size_t size, uint64_t offset,
                 uint64_t count = 1) {
  if (offset > size || count > (size - offset) / sizeof(T))
    return nullptr;
  return reinterpret_cast<const T*>(file + offset);
}

symbol_table symbols_in(const char* file, size_t size) {
  const auto* header = part_of<ElfW(Ehdr)>(file, size, 0);
  if (header == nullptr || ::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
    return {};
  const auto* sections
    = part_of<ElfW(Shdr)>(file, size, header->e_shoff, header->e_shnum);
  if (sections == nullptr || header->e_shentsize != sizeof *sections)
    return {};
  for (auto i = 0; i < header->e_shnum; ++i) {
    const auto& x = sections[i];
    if (x.sh_type != SHT_SYMTAB || x.sh_link >= header->e_shnum)
      continue;
    const auto& names = sections[x.sh_link];
    auto out = symbol_table{};
    out.count = x.sh_size / sizeof(ElfW(Sym));
    out.names_size = names.sh_size;
    out.symbols = part_of<ElfW(Sym)>(file, size, x.sh_offset, out.count);
    out.names = part_of<char>(file, size, names.sh_offset, out.names_size);
    if (out.symbols != nullptr && out.names != nullptr)
      return out;
  }
  return {};
}

} // namespace

symbol symbol_table::find(uintptr_t address) const {
  if (symbols == nullptr || names == nullptr)
    return {};
  const auto n = count != 0            ? count
                 : gnu_hash != nullptr ? count_of(gnu_hash)
                 : hash != nullptr     ? hash[1]
                                       : 0;
  for (size_t i = 0; i < n; ++i) {
    const auto& x = symbols[i];
    if (!is_function(x) || address < x.st_value
        || address - x.st_value >= x.st_size || x.st_name >= names_size)
      continue;
    const auto* name = names + x.st_name;
    const auto longest = std::min(names_size - x.st_name, symbol_name_max);
    return {{name, ::strnlen(name, longest)}, address - x.st_value};
  }
  return {};
}

// The loader has put most addresses right in memory, but not those of the
// kernel's own library.
symbol_table dynamic_symbols(const ElfW(Dyn) * dynamic, uintptr_t bias) {
  auto out = symbol_table{};
  const auto at = [bias](const ElfW(Dyn) * x) {
    return x->d_un.d_ptr < bias ? x->d_un.d_ptr + bias : x->d_un.d_ptr;
  };
  for (const auto* x = dynamic; x != nullptr && x->d_tag != DT_NULL; ++x)
    switch (x->d_tag) {
      case DT_SYMTAB:
        out.symbols = reinterpret_cast<const ElfW(Sym)*>(at(x));
        break;
      case DT_STRTAB:
        out.names = reinterpret_cast<const char*>(at(x));
        break;
      case DT_STRSZ:
        out.names_size = x->d_un.d_val;
        break;
      case DT_GNU_HASH:
        out.gnu_hash = reinterpret_cast<const uint32_t*>(at(x));
        break;
      case DT_HASH:
        out.hash = reinterpret_cast<const ElfW(Word)*>(at(x));
        break;
      default:
        break;
    }
  return out;
}

symbol_table own_symbols() {
  const auto fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return {};
  struct stat facts {};
  const auto size
    = ::fstat(fd, &facts) == 0 ? static_cast<size_t>(facts.st_size) : 0;
  auto* file = size == 0 ? MAP_FAILED
                         : ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  if (file == MAP_FAILED)
    return {};
  const auto out = symbols_in(static_cast<const char*>(file), size);
  if (out.symbols == nullptr)
    ::munmap(file, size);
  return out;
}

} // namespace actorrun::recording
