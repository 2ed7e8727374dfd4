#include "cli/completion/completion.hpp"

#include "cli/completion/parts.hpp"
#include "cli/options/values.hpp"

#include <utility>

namespace actorrun::cli {

namespace {

option_rules shown(const option_rules& rules) {
  auto out = option_rules{};
  for (const auto& x : rules)
    if (!x.group.empty())
      out.push_back(x);
  return out;
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
                      + " is no shell we know: bash, zsh, fish, tcsh");
}

std::string completion_script(shell which, const option_rules& rules) {
  const auto options = shown(rules);
  switch (which) {
    case shell::bash:
      return bash_completion(options);
    case shell::zsh:
      return zsh_completion(options);
    case shell::fish:
      return fish_completion(options);
    case shell::tcsh:
      break;
  }
  return tcsh_completion(options);
}

} // namespace actorrun::cli
