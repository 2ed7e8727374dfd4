// What shells need to complete the command line of `actorrun`.
#pragma once

#include "cli/options/option_table.hpp"
#include "messages/result.hpp"

#include <string>
#include <string_view>

namespace actorrun::cli {

enum class shell { bash, zsh, fish, tcsh };

/// @retval errc::bad_argument  the text names none of the four
result<shell> parse_shell(std::string_view text);

/// A script that the shell reads once; from then on it completes the names of
/// the options that the help shows, values that are words, and files. Names are
/// completed with dashes; behind the script, files only (tcsh cannot tell).
std::string completion_script(shell which, const option_rules& rules);

} // namespace actorrun::cli
