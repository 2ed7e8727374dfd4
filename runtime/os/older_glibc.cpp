// For programs that are to run with an older glibc than the one they are built with:
// what libstdc++ and libgcc, linked statically, want of it and has come after 2.34.
// Compiled with -fvisibility=hidden, so that no library of the system gets it.

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

/// Since 2.36, for `std::random_device`.
extern "C" uint32_t arc4random() {
  auto drawn = uint32_t{0};
  while (::getrandom(&drawn, sizeof drawn, 0) != ssize_t{sizeof drawn})
    if (errno != EINTR)
      std::abort(); // A number that is not random would be taken for one.
  return drawn;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE

namespace {

struct search {
  uintptr_t address;
  dl_find_object* out;
};

/// Stops at the program or library that has the address in one of its segments.
int look_into(dl_phdr_info* object, size_t, void* of) {
  auto& wanted = *static_cast<search*>(of);
  const ElfW(Phdr)* segment = nullptr;
  const ElfW(Phdr)* unwinding = nullptr;
  for (auto i = 0; i < object->dlpi_phnum; ++i) {
    const auto& x = object->dlpi_phdr[i];
    if (x.p_type == PT_GNU_EH_FRAME)
      unwinding = &x;
    if (x.p_type == PT_LOAD
        && wanted.address - (object->dlpi_addr + x.p_vaddr) < x.p_memsz)
      segment = &x;
  }
  if (segment == nullptr || unwinding == nullptr)
    return 0;
  const auto at = [&](ElfW(Addr) x) {
    return reinterpret_cast<void*>(object->dlpi_addr + x);
  };
  *wanted.out = {};
  wanted.out->dlfo_map_start = at(segment->p_vaddr);
  wanted.out->dlfo_map_end = at(segment->p_vaddr + segment->p_memsz);
  wanted.out->dlfo_eh_frame = at(unwinding->p_vaddr);
  return 1;
}

} // namespace

/// Since 2.35, where libgcc finds how to unwind the frame of an address.
extern "C" int _dl_find_object(void* address, dl_find_object* out) noexcept {
  auto wanted = search{reinterpret_cast<uintptr_t>(address), out};
  return ::dl_iterate_phdr(&look_into, &wanted) == 1 ? 0 : -1;
}

#endif
