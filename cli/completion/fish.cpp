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

/// The values of an option, as arguments of `complete`.
std::string fish_values(const std::string& program, const option_text& rule) {
  const auto choice = choice_of(rule);
  const auto words = joined_with(choice.words, " ");
  switch (choice.is) {
    case value_choice::kind::word:
      return " -x -a " + quoted_for_fish(words);
    case value_choice::kind::list:
      return " -x -a "
             + quoted_for_fish("(__" + program + "_list " + words + ")");
    case value_choice::kind::file:
    case value_choice::kind::folder:
      return " -r -F";
    case value_choice::kind::anything:
      break;
  }
  return " -x";
}

std::string options_with_values(const option_texts& rules) {
  auto out = std::vector<std::string>{};
  for (const auto& x : rules)
    if (!x.value.empty())
      out.push_back(joined_with(names_of(x), " "));
  return joined_with(out, " ");
}

/// A function that completes the last of several words with commas between them.
std::string list_function(const std::string& program) {
  return "function __" + program
         + "_list\n"
           "  set -l done (commandline -t"
           " | string replace -r -- '^--[^=,]*=' ''"
           " | string match -r '.*,')\n"
           "  printf '%s\\n' \"$done\"$argv\n"
           "end\n";
}

/// A function that says whether the cursor stands in front of the script.
std::string position_function(const program_guide& program) {
  return "function __" + program.name
         + "_at_options\n"
           "  set -l words (string replace -a _ - -- (commandline -opc))\n"
           "  set -e words[1]\n"
           "  while set -q words[1]\n"
           "    switch $words[1]\n"
           "      case "
         + options_with_values(program.options)
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
           "end\n";
}

/// One call of `complete` for each option.
/// @param condition A fish command that says whether options fit here.
std::string complete_options(const std::string& program,
                             const option_texts& rules,
                             const std::string& condition) {
  auto out = std::string{};
  for (const auto& x : rules) {
    out += "complete -c " + program + " -n " + condition + " -l "
           + x.name.substr(2);
    if (x.letter)
      out += std::string{" -s "} + x.letter;
    if (!x.value.empty())
      out += fish_values(program, x);
    out += " -d " + quoted_for_fish(purpose_of(x)) + "\n";
  }
  return out;
}

} // namespace

std::string fish_completion(const program_guide& program) {
  const auto& name = program.name;
  auto out = "# Completion of " + name + " for fish.\n";
  if (program.commands.empty())
    return out + position_function(program) + list_function(name)
           + complete_options(name, program.options,
                              "__" + name + "_at_options");
  out += list_function(name) + "complete -c " + name + " -f\n"
         + complete_options(name, program.options, "__fish_use_subcommand");
  for (const auto& x : program.commands)
    out += "complete -c " + name + " -n __fish_use_subcommand -a " + x.name
           + " -d " + quoted_for_fish(x.purpose) + "\n"
           + complete_options(
             name, x.options,
             quoted_for_fish("__fish_seen_subcommand_from " + x.name));
  return out;
}

} // namespace actorrun::cli
