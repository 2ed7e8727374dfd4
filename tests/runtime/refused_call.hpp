// Runs a function where the system refuses one call, as old kernels, containers and
// some file systems do.
#pragma once

#include "tests/support/catch.hpp"

#include <cerrno>
#include <cstddef>
#include <functional>
#include <thread>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace actorrun::detail::test_refused {

/// On a thread of its own, because a filter stays.
/// @param call Of `SYS_…`. @param error What it fails with.
inline void with_refused(long call, int error,
                         const std::function<void()>& fn) {
  auto is_filtered = false;
  std::thread{[&] {
    sock_filter code[]
      = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, offsetof(seccomp_data, nr)},
         {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, static_cast<unsigned>(call)},
         {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | unsigned(error)},
         {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
    const auto program = sock_fprog{4, code};
    is_filtered = ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                  && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0
                  && ::syscall(call, -1, nullptr, nullptr, 0) == -1
                  && errno == error;
    fn();
  }}.join();
  CHECK(is_filtered);
}

} // namespace actorrun::detail::test_refused
