// Finds programs where the shell would.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::detail {

struct program_path {
  std::string path;
  int error = 0; ///< ENOENT, EACCES, ENAMETOOLONG: there is no such program.
};

/// Finds programs as `execvpe` does, in the PATH the *child* will have, and
/// remembers what it found: make one for each batch of processes.
class program_finder {
public:
  /// @param name Used as it is when it contains a slash.
  /// @param environment Of the child; its PATH counts, `/bin:/usr/bin` if none.
  const program_path& find(const std::string& name,
                           const std::vector<std::string>& environment);

private:
  std::map<std::pair<std::string, std::string>, program_path> found_;
};

} // namespace actorrun::detail
