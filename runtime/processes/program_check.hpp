// Says why a file cannot be executed: the file itself, or the interpreter that
// it names.
#pragma once

#include <string>

namespace actorrun::detail {

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
