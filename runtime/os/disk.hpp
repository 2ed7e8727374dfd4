// Asks how much room a disk has.
#pragma once

#include <string>

namespace actorrun::detail {

/// Whether the disk that a file is on is full, to all but root. With a few free
/// blocks it is, too: for what was refused, they were too few.
bool is_on_full_disk(const std::string& path);

} // namespace actorrun::detail
