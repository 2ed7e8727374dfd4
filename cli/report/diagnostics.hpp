// Explains every error to a person: what happened, why, and what to do about it.
#pragma once

#include "messages/result.hpp"

#include <string>
#include <string_view>

namespace actorrun::cli {

/// Two or three lines, each with a line end: what happened (the text of
/// `problem`, or a general sentence if it has none), what lies behind it, and
/// what to try.
/// @param program Begins the first line: `actorrun: error: …`.
std::string explain(const failure& problem,
                    std::string_view program = "actorrun");

/// The sentence that `explain` begins with, in one line: what happened.
std::string sentence_of(const failure& problem);

/// What to try; may be empty.
std::string remedy_of(const failure& problem);

/// docs/messages.md: every kind of error, with what `explain` says of it and the exit
/// code, and all exit codes.
std::string messages_page();

/// One printable line with a line end, which `explain` would begin with: for who knows
/// better than it what to try.
std::string error_line(std::string_view text, std::string_view program);

/// One printable line with a line end: `actorrun: warning: …`.
std::string warn(std::string_view text, std::string_view program = "actorrun");

} // namespace actorrun::cli
