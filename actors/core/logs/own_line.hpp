// Makes a line of our own log safe for terminals and for those that read logs.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace actorrun::core {

/// In bytes; what is longer is cut, and ends in `…`.
inline constexpr size_t own_line_max = 16 * 1024;

/// Whatever texts of others a line holds: no control character but tabs and line ends
/// is left (`printable`), and what follows a line end is indented, so that none can be
/// taken for a line of ours. A plain line stays as it is, without a copy of its own.
/// @param room Holds the result if it differs from `line`.
std::string_view own_line(std::string_view line, std::string& room);

} // namespace actorrun::core
