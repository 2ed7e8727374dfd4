// Reads the option that asks for a completion script.
#pragma once

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

} // namespace actorrun::cli
