// Defines what the kernel writes of a folder, for code that may not allocate.
#pragma once

#include <cstdint>

namespace actorrun::detail {

/// Of getdents64(2). Entries are `length` bytes apart.
struct directory_entry {
  uint64_t inode;
  int64_t offset;
  unsigned short length;
  unsigned char type;
  char name[1]; ///< Ends with a zero.
};

} // namespace actorrun::detail
