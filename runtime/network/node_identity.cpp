// Gives every process a random identity. CAF's is made from hardware addresses
// and a process id: in containers two processes may share both, and CAF would
// take them for one. The linker prefers these definitions over those in CAF's
// library.

#include <cstdint>
#include <string>

#include <sys/random.h>

namespace caf::detail {

unsigned get_process_id() {
  static const auto id = [] {
    unsigned x = 0;
    while (x == 0)
      if (::getrandom(&x, sizeof x, 0) != sizeof x)
        x = 0;
    return x;
  }();
  return id;
}

std::string get_root_uuid() {
  static const auto id = [] {
    auto bytes = std::string(16, '\0');
    while (::getrandom(bytes.data(), bytes.size(), 0)
           != static_cast<ssize_t>(bytes.size())) {
    }
    return bytes;
  }();
  return id;
}

} // namespace caf::detail
