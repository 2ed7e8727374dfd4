#include "runtime/processes/resident_pages.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <iterator>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr uint64_t is_present = 1ULL << 63;
constexpr size_t entries_per_read = 256;

/// One line of /proc/self/maps.
struct mapping {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  bool is_writable = false;
  bool is_file = false;

  bool contains(uintptr_t x) const { return begin <= x && x < end; }
};

/// Reads that file line by line, without memory of its own.
class mappings {
public:
  mappings() : fd_(::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)) {}
  ~mappings() { ::close(fd_); }
  mappings(const mappings&) = delete;
  mappings& operator=(const mappings&) = delete;

  /// @returns false at the end
  bool next(mapping& out) {
    out = {};
    auto c = get();
    if (c < 0)
      return false;
    c = read_number(c, out.begin);
    c = read_number(get(), out.end);
    for (c = get(); c >= 0 && c != ' '; c = get()) // `r-xp`
      out.is_writable = out.is_writable || c == 'w';
    auto last = c;
    for (; c >= 0 && c != '\n'; c = get()) {
      out.is_file = out.is_file || (c == '/' && last == ' ');
      last = c;
    }
    return true;
  }

private:
  int get() {
    if (at_ == size_) {
      const auto n = ::read(fd_, text_, sizeof text_);
      if (n <= 0)
        return -1;
      at_ = 0;
      size_ = static_cast<size_t>(n);
    }
    return static_cast<unsigned char>(text_[at_++]);
  }

  // @returns what follows it
  int read_number(int c, uintptr_t& out) {
    for (;; c = get()) {
      if (c >= '0' && c <= '9')
        out = out * 16 + static_cast<uintptr_t>(c - '0');
      else if (c >= 'a' && c <= 'f')
        out = out * 16 + static_cast<uintptr_t>(c - 'a' + 10);
      else
        return c;
    }
  }

  int fd_;
  char text_[1024];
  size_t at_ = 0;
  size_t size_ = 0;
};

int lock(uintptr_t begin, uintptr_t end) {
  return ::mlock(reinterpret_cast<const void*>(begin), end - begin) == 0
           ? 0
           : errno;
}

/// Locks the pages of `x` that the page table has.
int lock_present(int page_map, const mapping& x, uintptr_t page) {
  uint64_t entries[entries_per_read];
  for (auto at = x.begin; at < x.end;) {
    const auto count
      = std::min<size_t>((x.end - at) / page, std::size(entries));
    const auto n = ::pread(page_map, entries, count * sizeof entries[0],
                           static_cast<off_t>(at / page * sizeof entries[0]));
    if (n <= 0)
      return 0;
    const auto got = static_cast<size_t>(n) / sizeof entries[0];
    for (size_t i = 0; i < got;) {
      auto j = i;
      while (j < got && (entries[j] & is_present) != 0)
        ++j;
      if (j > i)
        if (const auto error = lock(at + i * page, at + j * page))
          return error;
      i = j + 1;
    }
    at += got * page;
  }
  return 0;
}

} // namespace

int lock_touched_pages(const void* data, size_t size) noexcept {
  if (::mlock(data, size) != 0)
    return errno;
  const auto page_map = ::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  if (page_map < 0)
    return errno;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto here = reinterpret_cast<uintptr_t>(&page_map);
  auto error = 0;
  // The stack goes first. What is writable of a file is a copy already.
  for (const auto is_stack : {true, false}) {
    auto all = mappings{};
    for (auto x = mapping{}; error == 0 && all.next(x);)
      if (is_stack ? x.contains(here)
                   : x.is_file && !x.is_writable && !x.contains(here))
        error = lock_present(page_map, x, page);
  }
  ::close(page_map);
  return error;
}

} // namespace actorrun::detail
