#include "cli/completion/completion.hpp"

#include "cli/completion/parts.hpp"
namespace actorrun::cli {

namespace {

void remove_hidden(option_texts& rules) {
  std::erase_if(rules, [](const auto& x) { return x.group.empty(); });
}

} // namespace

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
