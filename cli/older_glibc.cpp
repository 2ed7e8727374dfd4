// For programs that are to run with an older glibc than the one they are built with:
// the functions that libraries of ours want from it and that came after 2.34.

#include <cerrno>
#include <cstdint>
#include <cstdlib>

#include <sys/random.h>

/// Since 2.36. `std::random_device` refers to it where libstdc++ was built with that glibc.
extern "C" [[gnu::visibility("hidden")]] uint32_t arc4random() {
  auto drawn = uint32_t{0};
  while (::getrandom(&drawn, sizeof drawn, 0) != ssize_t{sizeof drawn})
    if (errno != EINTR)
      std::abort(); // A number that is not random would be taken for one.
  return drawn;
}
