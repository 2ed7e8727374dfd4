// C++ names as people write them.
#pragma once

#include <string>
#include <string_view>

namespace actorrun::detail {

/// Replaces the mangled names in a text, as in `./train(_Z4stepv+0x12)`, by
/// what they stand for. Names that are no valid ones stay, and so do those that
/// could stand for very much: the text may come from anybody.
std::string demangled(std::string_view text);

} // namespace actorrun::detail
