#include "fail.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

#include <unistd.h>

namespace training {

void fail(std::string_view why, exit_status status) {
  const auto* rank = std::getenv("RANK");
  auto line = std::string{"elastic_training"};
  if (rank != nullptr)
    line += std::string{" rank "} + rank;
  line.append(": ").append(why).append("\n");
  std::cout.flush();
  std::cerr << line << std::flush;
  // Not exit(): the sockets must close at once, so that the peers notice at
  // once.
  _exit(static_cast<int>(status));
}

void fail_errno(std::string_view what) {
  fail(std::string{what} + ": " + std::strerror(errno));
}

} // namespace training
