#include "runtime/os/cpu_binding.hpp"

#include <cerrno>
#include <thread>

#include <sys/syscall.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

constexpr uint32_t word_bits = 8 * sizeof(unsigned long);

// As in linux/mempolicy.h, which older headers do not have whole.
constexpr int policy_preferred = 1;
constexpr int policy_preferred_many = 5;

std::vector<unsigned long> mask_of(const std::vector<uint32_t>& numbers,
                                   uint32_t max) {
  auto out = std::vector<unsigned long>{};
  for (const auto x : numbers) {
    if (x >= max)
      continue;
    if (x / word_bits >= out.size())
      out.resize(x / word_bits + 1);
    out[x / word_bits] |= 1UL << (x % word_bits);
  }
  return out;
}

} // namespace

cpu_binding::cpu_binding(const core::process_binding& x)
  : cpus_(mask_of(x.cpus, cpus_max)),
    nodes_(mask_of(x.memory_nodes, nodes_max)),
    has_many_nodes_(x.memory_nodes.size() > 1) {}

// The system calls themselves: the library's wrappers would be as good, but it
// is not guaranteed that they stay async-signal-safe.
int cpu_binding::apply() const noexcept {
  if (!cpus_.empty()
      && ::syscall(SYS_sched_setaffinity, 0, cpus_.size() * sizeof cpus_[0],
                   cpus_.data())
           < 0)
    return errno;
  if (nodes_.empty())
    return 0;
  const auto policy
    = has_many_nodes_ ? policy_preferred_many : policy_preferred;
  // The kernel uses one bit less than the number it is given.
  const auto bits = nodes_.size() * word_bits + 1;
  return ::syscall(SYS_set_mempolicy, policy, nodes_.data(), bits) < 0 ? errno
                                                                       : 0;
}

// On another thread, because the policy belongs to the thread.
int check_memory_policy(const core::process_binding& x) {
  auto error = 0;
  std::thread{[&] {
    error = cpu_binding{{.cpus = {}, .memory_nodes = x.memory_nodes}}.apply();
  }}.join();
  return error;
}

} // namespace actorrun::detail
