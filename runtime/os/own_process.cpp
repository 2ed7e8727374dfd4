#include "runtime/os/own_process.hpp"

#include <cstdint>
#include <cstdio>

#include <sys/random.h>
#include <unistd.h>

namespace actorrun::detail {

agent_id make_agent_id(const std::string& host) {
  auto number = uint32_t{0};
  while (::getrandom(&number, sizeof number, 0) != sizeof number) {
  }
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", number);
  return {host + "-" + std::to_string(::getpid()) + "-" + digits};
}

std::vector<std::string> own_environment() {
  auto result = std::vector<std::string>{};
  for (char** x = ::environ; x != nullptr && *x != nullptr; ++x)
    result.emplace_back(*x);
  return result;
}

} // namespace actorrun::detail
