#include "cli/version.hpp"

#include <cstdio>

namespace actorrun::cli {

void print_version(const char* name, const char* version) {
  const auto* commit = build_commit();
  if (*commit == 0)
    std::printf("%s %s\n", name, version);
  else
    std::printf("%s %s (commit %s)\n", name, version, commit);
}

} // namespace actorrun::cli
