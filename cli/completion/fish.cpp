#include "cli/completion/parts.hpp"

namespace actorrun::cli {

namespace {

/// In single quotes, in which a backslash is special, too.
std::string quoted_for_fish(std::string_view text) {
  auto out = std::string{"'"};
  for (const auto c : text)
    out += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return out + "'";
}

/// What completes the value of an option: arguments of `complete`.
std::string values_of(const option_rule& rule) {
  const auto choice = choice_of(rule);
  const auto words = joined_with(choice.words, " ");
  switch (choice.is) {
    case value_choice::kind::word:
      return " -x -a " + quoted_for_fish(words);
    case value_choice::kind::list:
      return " -x -a " + quoted_for_fish("(__actorrun_list " + words + ")");
    case value_choice::kind::file:
    case value_choice::kind::folder:
      return " -r -F";
    case value_choice::kind::anything:
      break;
  }
  return " -x";
}

std::string options_with_values(const option_rules& rules) {
  auto out = std::vector<std::string>{};
  for (const auto& x : rules)
    if (!x.value.empty())
      out.push_back(joined_with(names_of(x), " "));
  return joined_with(out, " ");
}

/// Functions that the script calls: whether the cursor stands in front of the
/// script of actorrun, and the last of several words with commas between them.
std::string helpers(const option_rules& rules) {
  return "# Completion of actorrun for fish.\n"
         "function __actorrun_at_options\n"
         "  set -l words (string replace -a _ - -- (commandline -opc))\n"
         "  set -e words[1]\n"
         "  while set -q words[1]\n"
         "    switch $words[1]\n"
         "      case "
         + options_with_values(rules)
         + "\n"
           "        set -e words[1]\n"
           "      case --\n"
           "        return 1\n"
           "      case '-*'\n"
           "      case '*'\n"
           "        return 1\n"
           "    end\n"
           "    set -e words[1]\n"
           "  end\n"
           "end\n"
           "function __actorrun_list\n"
           "  set -l done (commandline -t"
           " | string replace -r -- '^--[^=,]*=' ''"
           " | string match -r '.*,')\n"
           "  printf '%s\\n' \"$done\"$argv\n"
           "end\n";
}

} // namespace

std::string fish_completion(const option_rules& rules) {
  auto out = helpers(rules);
  for (const auto& x : rules) {
    out
      += "complete -c actorrun -n __actorrun_at_options -l " + x.name.substr(2);
    if (x.letter)
      out += std::string{" -s "} + x.letter;
    if (!x.value.empty())
      out += values_of(x);
    out += " -d " + quoted_for_fish(purpose_of(x)) + "\n";
  }
  return out;
}

} // namespace actorrun::cli
