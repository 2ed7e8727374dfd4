// Finds the file of a command and explains why a file cannot be executed.
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

/// @returns 0, or the errno with which the file cannot be executed, whatever it
///          contains
int check_executable(const std::string& path);

/// What could not be used when a program did not start: `name`, or
/// `name (its interpreter path)` if the first line of a script or the header of
/// a binary names one that cannot be executed. Control characters are escaped,
/// since they are what is wrong with `/bin/sh\r`. Reads the file: call it after
/// a failure only.
/// @param name The program as it was given.
/// @param path Where it was found.
/// @param error errno of the failure.
std::string subject_of(const std::string& name, const std::string& path,
                       int error);

} // namespace actorrun::detail
