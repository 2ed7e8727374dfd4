// Describes errno values.
#pragma once

#include <string>

namespace actorrun::detail {

/// The system's description of an errno, in English: `No such file or
/// directory`.
std::string error_text(int error);

} // namespace actorrun::detail
