#include "cli/completion/parts.hpp"

namespace actorrun::cli {

namespace {

/// What completes the value of an option, as a command that fills COMPREPLY.
std::string values_of(const option_rule& rule) {
  const auto choice = choice_of(rule);
  const auto words = quoted_for_shell(joined_with(choice.words, " "));
  switch (choice.is) {
    case value_choice::kind::word:
      return "_actorrun_reply -W " + words;
    case value_choice::kind::list:
      return "_actorrun_list " + words;
    case value_choice::kind::file:
      return "_actorrun_reply -f";
    case value_choice::kind::folder:
      return "_actorrun_reply -d";
    case value_choice::kind::anything:
      break;
  }
  return ":";
}

std::string value_cases(const option_rules& rules) {
  auto out = std::string{};
  for (const auto& x : rules)
    if (!x.value.empty())
      out += "    " + joined_with(names_of(x), "|") + ") " + values_of(x)
             + " ;;\n";
  return out;
}

std::string flags_of(const option_rules& rules) {
  auto out = std::vector<std::string>{};
  for (const auto& x : rules)
    if (x.value.empty())
      out.push_back(joined_with(names_of(x), "|"));
  return joined_with(out, "|");
}

std::string all_names(const option_rules& rules) {
  auto out = std::vector<std::string>{};
  for (const auto& x : rules)
    out.push_back(joined_with(names_of(x), " "));
  return joined_with(out, " ");
}

constexpr auto helpers
  = "# Completion of actorrun for bash.\n"
    "_actorrun_reply() {\n"
    "  mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\")\n"
    "}\n"
    // The last of several words with commas between them.
    "_actorrun_list() {\n"
    "  local done=${cur%\"${cur##*,}\"} i\n"
    "  mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"${cur##*,}\")\n"
    "  for i in \"${!COMPREPLY[@]}\"; do\n"
    "    COMPREPLY[i]=$done${COMPREPLY[i]}\n"
    "  done\n"
    "  if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi\n"
    "}\n";

} // namespace

// The script is the first word that is no option and no value of one: behind
// it, words are its own. Bash cuts words at `=`.
std::string bash_completion(const option_rules& rules) {
  return helpers + std::string{"_actorrun_value() {\n  case $1 in\n"}
         + value_cases(rules)
         + "  esac\n"
           "}\n"
           "_actorrun() {\n"
           "  local cur=${COMP_WORDS[COMP_CWORD]} i=1 word\n"
           "  COMPREPLY=()\n"
           "  while ((i < COMP_CWORD)); do\n"
           "    word=${COMP_WORDS[i]//_/-}\n"
           "    case $word in\n"
           "      "
         + flags_of(rules)
         + ") ;;\n"
           "      -[!-]?*) ;;\n"
           "      --) _actorrun_reply -f; return ;;\n"
           "      -*)\n"
           "        if [[ ${COMP_WORDS[i+1]} == '=' ]]; then ((++i)); fi\n"
           "        if ((++i >= COMP_CWORD)); then\n"
           "          if [[ $cur == '=' ]]; then cur=; fi\n"
           "          _actorrun_value \"$word\"\n"
           "          return\n"
           "        fi ;;\n"
           "      *) _actorrun_reply -f; return ;;\n"
           "    esac\n"
           "    ((++i))\n"
           "  done\n"
           "  if [[ $cur == -* ]]; then\n"
           "    _actorrun_reply -W "
         + quoted_for_shell(all_names(rules))
         + "\n"
           "  else\n"
           "    _actorrun_reply -f\n"
           "  fi\n"
           "}\n"
           "complete -o filenames -F _actorrun actorrun\n";
}

} // namespace actorrun::cli
