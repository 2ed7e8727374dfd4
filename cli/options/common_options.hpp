// Defines the options that both programs have.
#pragma once

#include "cli/options/command_line.hpp"
#include "messages/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace actorrun::cli {

enum class shell { bash, zsh, fish, tcsh };

/// @retval errc::bad_argument  the text names none of the four
result<shell> parse_shell(std::string_view text);

/// What to show instead of doing anything.
struct shown_instead {
  bool help = false;
  bool version = false;
  std::optional<shell> completion; ///< The script for it.
};

void add_help(option_adder& add, shown_instead& out);

/// Of a program with so many options that few are shown.
void add_brief_help(option_adder& add, shown_instead& out);

/// `--help`, `--version` and `--print-completion`.
void add_common_options(option_adder& add, const std::string& program,
                        shown_instead& out);

} // namespace actorrun::cli
