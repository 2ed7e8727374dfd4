// Reads how much memory this process takes.
#pragma once

#include <fstream>

#include <malloc.h>
#include <unistd.h>

namespace actorrun::detail::test {

/// In MiB.
inline double resident_size() {
  auto file = std::ifstream{"/proc/self/statm"};
  auto all = 0.0;
  auto resident = 0.0;
  file >> all >> resident;
  return resident * double(::sysconf(_SC_PAGESIZE)) / (1 << 20);
}

/// In KiB, without what was freed and is kept for later.
inline double heap_size() {
  return double(::mallinfo2().uordblks) / 1024;
}

} // namespace actorrun::detail::test
