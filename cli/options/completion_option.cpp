#include "cli/options/completion_option.hpp"

#include "cli/options/values.hpp"

#include <utility>

namespace actorrun::cli {

result<shell> parse_shell(std::string_view text) {
  static constexpr std::pair<std::string_view, shell> names[]
    = {{"bash", shell::bash},
       {"zsh", shell::zsh},
       {"fish", shell::fish},
       {"tcsh", shell::tcsh}};
  if (const auto x = value_of(text, names))
    return *x;
  return bad_argument(in_quotes(text)
                      + " is not a known shell; bash, zsh, fish and tcsh are");
}

option_rule completion_rule(const std::string& program,
                            const std::string& group,
                            std::optional<shell>& out) {
  return {"--print-completion",
          0,
          "bash|zsh|fish|tcsh",
          group,
          "print a completion script for this shell: source <(" + program
            + " --print-completion=bash)",
          into(out, parse_shell)};
}

} // namespace actorrun::cli
