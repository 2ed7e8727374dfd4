#include "runtime/os/disk.hpp"

#include <sys/statvfs.h>

namespace actorrun::detail {

namespace {

constexpr auto blocks_left_max = fsblkcnt_t{16};

} // namespace

bool is_on_full_disk(const std::string& path) {
  struct statvfs facts {};
  return ::statvfs(path.c_str(), &facts) == 0 && facts.f_blocks > 0
         && facts.f_bavail <= blocks_left_max;
}

} // namespace actorrun::detail
