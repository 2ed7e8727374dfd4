// Turns bytes of other programs into text for consoles, reports and the wire,
// and numbers into text: ranks, signals, errors.
#pragma once

#include "actors/core/utf8.hpp"
#include "messages/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace actorrun::core {

/// Makes any bytes readable: escape sequences of terminals are left out, other
/// control characters but tab and line end become `\x07`, what is not UTF-8
/// becomes U+FFFD, as what turns the direction of text. The result is valid UTF-8.
std::string printable(std::string_view bytes);

/// The end of a text, at most `limit` bytes, from the beginning of a character
/// on.
std::string_view end_of(std::string_view text, size_t limit);

/// The beginning of a text, at most `limit` bytes, up to the end of a character.
std::string_view beginning_of(std::string_view text, size_t limit);

/// Takes the text up to the separator, or all of it, and the separator with it.
std::string_view take_until(std::string_view& text, char separator);

/// The first line that is not empty, without its end; printable.
std::string first_line_of(std::string_view text);

/// ASCII letters in lower case.
std::string lowered(std::string_view text);

/// The last lines of a program's output, printable, without the last line end.
/// Of a line that was overwritten with carriage returns, the final state.
/// @param is_cut `bytes` begin within a line: that is left out, unless it is
///               the only one.
std::string last_lines(std::string_view bytes, bool is_cut, size_t line_max);

/// Whether a text can be the name or number of a host, as for MASTER_ADDR: 1 to
/// 255 letters, digits and `.-_:%`.
bool is_host_text(std::string_view text);

/// Numbers as ranges: `0-3,8`. Consecutive numbers are one range.
/// @param numbers In any order; a repeated one counts once.
std::string to_ranges(std::span<const uint32_t> numbers);

/// `1 node`, `2 nodes`
std::string counted(uint64_t n, std::string_view noun);

/// A length of time for people: `0.4 ms`, `12.0 s`, `3 min 12 s`, `2 h 5 min`.
/// @param x Negative ones count as 0.
std::string duration_text(std::chrono::nanoseconds x);

/// `SIGTERM`; empty for a number that has no name here, such as a real-time
/// signal.
std::string signal_name(int signal);

/// The system's description of an errno, in English: `No such file or
/// directory`. The number may come from another host, whose system knows more
/// errors: those are `error 999`.
std::string error_text(int error);

/// With the description of an errno: `epoll: Too many open files`.
failure system_failure(std::string what, int error);

} // namespace actorrun::core
