#include "cli/completion/completion.hpp"

#include "cli/completion/parts.hpp"
#include "cli/options/values.hpp"

#include <utility>

namespace actorrun::cli {

namespace {

void remove_hidden(option_rules& rules) {
  std::erase_if(rules, [](const auto& x) { return x.group.empty(); });
}

} // namespace

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

std::string completion_script(shell which, const program_guide& program) {
  auto shown = program;
  remove_hidden(shown.options);
  for (auto& command : shown.commands)
    remove_hidden(command.options);
  switch (which) {
    case shell::bash:
      return bash_completion(shown);
    case shell::zsh:
      return zsh_completion(shown);
    case shell::fish:
      return fish_completion(shown);
    case shell::tcsh:
      break;
  }
  return tcsh_completion(shown);
}

} // namespace actorrun::cli
