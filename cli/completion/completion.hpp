// Writes the scripts with which shells complete the command lines of the programs.
#pragma once

#include "cli/guide/guide.hpp"
#include "cli/options/option_table.hpp"
#include "messages/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace actorrun::cli {

enum class shell { bash, zsh, fish, tcsh };

/// @retval errc::bad_argument  the text names none of the four
result<shell> parse_shell(std::string_view text);

/// `--print-completion`, which fills `out`.
option_rule completion_rule(const std::string& program,
                            const std::string& group,
                            std::optional<shell>& out);

/// A script that the shell reads once. It completes the names of commands and of
/// the options that the help shows, values that are words, and files. Names are
/// completed with dashes. After the script of `actorrun`, only files are completed;
/// tcsh cannot tell where that is.
std::string completion_script(shell which, const program_guide& program);

} // namespace actorrun::cli
