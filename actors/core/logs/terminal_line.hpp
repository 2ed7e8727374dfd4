// Makes a worker's line safe for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace actorrun::core {

/// Keeps text, tabs and colours (`ESC [ … m`), and ends the colours with the line.
/// Every other control character is shown as `^X`, one of the C1 set and what is
/// not UTF-8 as U+FFFD: a line cannot move the cursor, set a title or ask the
/// terminal for an answer.
std::string terminal_line(std::string_view line);

} // namespace actorrun::core
