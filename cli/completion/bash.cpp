#include "cli/completion/parts.hpp"

namespace actorrun::cli {

namespace {

/// Replaces every `PROGRAM` by the name of the program.
std::string named(std::string text, const std::string& program) {
  constexpr std::string_view placeholder = "PROGRAM";
  for (auto i = text.find(placeholder); i != text.npos;
       i = text.find(placeholder, i))
    text.replace(i, placeholder.size(), program);
  return text;
}

/// A command that fills COMPREPLY with values of an option.
std::string bash_values(const option_text& rule) {
  const auto choice = choice_of(rule);
  const auto words = quoted_for_shell(joined_with(choice.words, " "));
  switch (choice.is) {
    case value_choice::kind::word:
      return "_PROGRAM_reply -W " + words;
    case value_choice::kind::list:
      return "_PROGRAM_list " + words;
    case value_choice::kind::file:
      return "_PROGRAM_reply -f";
    case value_choice::kind::folder:
      return "_PROGRAM_reply -d";
    case value_choice::kind::anything:
      break;
  }
  return ":";
}

/// A pattern for an option of a command: `status:--json`, `:-h|:--help`.
std::string pattern_of(const std::string& command, const option_text& rule) {
  auto out = std::vector<std::string>{};
  for (const auto& name : names_of(rule))
    out.push_back(command + ":" + name);
  return joined_with(out, "|");
}

std::string value_cases(const program_guide& program) {
  auto out = std::string{};
  for (const auto& [command, rules] : scopes_of(program))
    for (const auto& x : rules)
      if (!x.value.empty())
        out
          += "    " + pattern_of(command, x) + ") " + bash_values(x) + " ;;\n";
  return out;
}

std::string flags_of(const program_guide& program) {
  auto out = std::vector<std::string>{};
  for (const auto& [command, rules] : scopes_of(program))
    for (const auto& x : rules)
      if (x.value.empty())
        out.push_back(pattern_of(command, x));
  return joined_with(out, "|");
}

std::string all_names(const option_texts& rules) {
  auto out = std::vector<std::string>{};
  for (const auto& x : rules)
    out.push_back(joined_with(names_of(x), " "));
  return joined_with(out, " ");
}

std::string name_cases(const program_guide& program) {
  auto out = std::string{};
  for (const auto& [command, rules] : scopes_of(program))
    out += "      " + quoted_for_shell(command) + ") _PROGRAM_reply -W "
           + quoted_for_shell(all_names(rules)) + " ;;\n";
  return out;
}

/// Cases for a word that is no option. The script of a program without commands
/// ends its options: all words after it are files to us.
std::string word_cases(const program_guide& program) {
  if (program.commands.empty())
    return "      *) _PROGRAM_reply -f; return ;;\n";
  auto commands = std::vector<std::string>{};
  for (const auto& x : program.commands)
    commands.push_back(":" + x.name);
  return "      " + joined_with(commands, "|")
         + ") command=$word ;;\n"
           "      :*) return ;;\n";
}

/// What completes a word that is no option.
std::string word_reply(const program_guide& program) {
  if (program.commands.empty())
    return "  else\n    _PROGRAM_reply -f\n";
  return "  elif [[ -z $command ]]; then\n    _PROGRAM_reply -W "
         + quoted_for_shell(joined_with(command_names(program), " ")) + "\n";
}

constexpr auto helpers
  = "# Completion of PROGRAM for bash.\n"
    "_PROGRAM_reply() {\n"
    "  mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\")\n"
    "}\n"
    // The last of several words with commas between them.
    "_PROGRAM_list() {\n"
    "  local done=${cur%\"${cur##*,}\"} i\n"
    "  mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"${cur##*,}\")\n"
    "  for i in \"${!COMPREPLY[@]}\"; do\n"
    "    COMPREPLY[i]=$done${COMPREPLY[i]}\n"
    "  done\n"
    "  if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi\n"
    "}\n";

} // namespace

// Bash cuts words at `=`.
std::string bash_completion(const program_guide& program) {
  const auto* end
    = program.commands.empty() ? "_PROGRAM_reply -f; return" : "return";
  return named(
    helpers + std::string{"_PROGRAM_value() {\n  case $1 in\n"}
      + value_cases(program)
      + "  esac\n"
        "}\n"
        "_PROGRAM() {\n"
        "  local cur=${COMP_WORDS[COMP_CWORD]} command= i=1 word\n"
        "  COMPREPLY=()\n"
        "  while ((i < COMP_CWORD)); do\n"
        "    word=${COMP_WORDS[i]//_/-}\n"
        "    case $command:$word in\n"
        "      "
      + flags_of(program)
      + ") ;;\n"
        "      *:-[!-]?*) ;;\n"
        "      *:--) "
      + end
      + " ;;\n"
        "      *:-*)\n"
        "        if [[ ${COMP_WORDS[i+1]} == '=' ]]; then ((++i)); fi\n"
        "        if ((++i >= COMP_CWORD)); then\n"
        "          if [[ $cur == '=' ]]; then cur=; fi\n"
        "          _PROGRAM_value \"$command:$word\"\n"
        "          return\n"
        "        fi ;;\n"
      + word_cases(program)
      + "    esac\n"
        "    ((++i))\n"
        "  done\n"
        "  if [[ $cur == -* ]]; then\n"
        "    case $command in\n"
      + name_cases(program) + "    esac\n" + word_reply(program)
      + "  fi\n"
        "}\n"
        "complete -o filenames -F _PROGRAM PROGRAM\n",
    program.name);
}

} // namespace actorrun::cli
