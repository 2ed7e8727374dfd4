#include "cli/completion/parts.hpp"

#include <algorithm>

namespace actorrun::cli {

namespace {

/// The values of an option, as `complete` writes them; empty if there is nothing to
/// offer.
std::string tcsh_values(const option_text& rule) {
  const auto choice = choice_of(rule);
  switch (choice.is) {
    case value_choice::kind::word:
    case value_choice::kind::list: // The first word of it, at least.
      return "(" + joined_with(choice.words, " ") + ")";
    case value_choice::kind::file:
      return "f";
    case value_choice::kind::folder:
      return "d";
    case value_choice::kind::anything:
      break;
  }
  return "";
}

/// The name of an option as a pattern for both of its spellings.
std::string tcsh_pattern(const std::string& name) {
  auto out = std::string{"--"};
  for (const auto c : name.substr(2))
    out += c == '-' ? "[-_]" : std::string(1, c);
  return out;
}

std::string rule_of(const std::string& text) {
  return " \\\n  " + quoted_for_shell(text);
}

/// Of options with one name, the first: tcsh knows nothing of commands.
option_texts all_options(const program_guide& program) {
  auto out = option_texts{};
  for (const auto& [command, rules] : scopes_of(program))
    for (const auto& x : rules)
      if (std::none_of(out.begin(), out.end(),
                       [&](const auto& y) { return y.name == x.name; }))
        out.push_back(x);
  return out;
}

} // namespace

// The first rule that fits counts. tcsh cannot tell where the script stands.
std::string tcsh_completion(const program_guide& program) {
  auto out = "# Completion of " + program.name + " for tcsh.\ncomplete "
             + program.name;
  auto names = std::vector<std::string>{};
  for (const auto& x : all_options(program)) {
    names.push_back(x.name.substr(2));
    const auto values = tcsh_values(x);
    if (values.empty())
      continue;
    out += rule_of("c/" + x.name + "=/" + values + "/");
    out += rule_of("n/" + tcsh_pattern(x.name) + "/" + values + "/");
    if (x.letter)
      out += rule_of(std::string{"n/-"} + x.letter + "/" + values + "/");
  }
  out += rule_of("c/--/(" + joined_with(names, " ") + ")/");
  return out
         + (program.commands.empty()
              ? rule_of("p/*/f/")
              : rule_of("p/1/(" + joined_with(command_names(program), " ")
                        + ")/"))
         + "\n";
}

} // namespace actorrun::cli
