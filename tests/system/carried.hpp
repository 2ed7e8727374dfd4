// Finds the programs and scripts that a test runs.
#pragma once

#include <cstdlib>
#include <string>

namespace actorrun::test {

/// The path of a file in the tree of sources or of the build; with
/// ACTORRUN_TEST_KIT set, in a folder that is laid out like both of them and was
/// carried to another machine (tests/gpu/pack.sh).
inline std::string carried(const std::string& tree, const std::string& name) {
  const auto* kit = std::getenv("ACTORRUN_TEST_KIT");
  return (kit == nullptr || *kit == '\0' ? tree : kit) + "/" + name;
}

} // namespace actorrun::test
