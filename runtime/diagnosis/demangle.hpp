// Demangles C++ names in texts.
#pragma once

#include <string>
#include <string_view>

namespace actorrun::detail {

/// Replaces the mangled names in a text, as in `./train(_Z4stepv+0x12)`, by
/// readable ones. Invalid names stay, and so do names that could become very
/// long, because the text is untrusted.
std::string demangled(std::string_view text);

} // namespace actorrun::detail
