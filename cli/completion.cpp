#include "actorrun/cli/completion.hpp"

#include "actorrun/cli/arguments_values.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

namespace actorrun::cli {

namespace {

bool is_word(std::string_view text) {
  return !text.empty()
         && std::all_of(text.begin(), text.end(), [](unsigned char c) {
              return std::islower(c) || std::isdigit(c) || c == '-';
            });
}

/// The words in what stands for a value in the help: of `N|cpu|gpu`, cpu and
/// gpu.
std::vector<std::string> words_of(const option_rule& rule) {
  auto out = std::vector<std::string>{};
  for (const auto part : split(rule.value, '|'))
    if (is_word(part))
      out.emplace_back(part);
  return out;
}

bool takes_folder(const option_rule& rule) {
  return rule.value == "FOLDER";
}

bool takes_file(const option_rule& rule) {
  return rule.value == "FILE";
}

std::string joined(const std::vector<std::string>& words) {
  auto out = std::string{};
  for (const auto& x : words)
    out += (out.empty() ? "" : " ") + x;
  return out;
}

/// The first line of the help, or its beginning.
std::string purpose_of(const option_rule& rule) {
  return rule.help.substr(0, rule.help.find('\n'));
}

/// In single quotes for bash, zsh and tcsh, where nothing else is special.
std::string quoted_for_shell(std::string_view text) {
  auto out = std::string{"'"};
  for (const auto c : text)
    out += c == '\'' ? std::string{"'\\''"} : std::string(1, c);
  return out + "'";
}

/// In single quotes for fish, where a backslash is special, too.
std::string quoted_for_fish(std::string_view text) {
  auto out = std::string{"'"};
  for (const auto c : text)
    out += c == '\'' || c == '\\' ? std::string{'\\', c} : std::string(1, c);
  return out + "'";
}

/// Names as patterns of `case`: `-r|--redirects`.
std::string pattern_of(const option_rule& rule) {
  return (rule.letter ? std::string{'-', rule.letter, '|'} : "") + rule.name;
}

option_rules shown(const option_rules& rules) {
  auto out = option_rules{};
  for (const auto& x : rules)
    if (!x.group.empty())
      out.push_back(x);
  return out;
}

std::string names_of(const option_rules& rules) {
  auto out = std::vector<std::string>{};
  for (const auto& x : rules) {
    out.push_back(x.name);
    if (x.letter)
      out.push_back({'-', x.letter});
  }
  return joined(out);
}

// -- bash ---------------------------------------------------------------------

/// What completes the value of an option, as a command that fills COMPREPLY.
std::string bash_values(const option_rule& rule) {
  const auto words = words_of(rule);
  if (takes_folder(rule))
    return "_actorrun_reply -d";
  if (takes_file(rule))
    return "_actorrun_reply -f";
  if (words.empty())
    return ":";
  return "_actorrun_reply -W " + quoted_for_shell(joined(words));
}

std::string bash_value_cases(const option_rules& rules,
                             const std::string& indent) {
  auto out = std::string{};
  for (const auto& x : rules)
    if (!x.value.empty())
      out += indent + pattern_of(x) + ") " + bash_values(x) + "; return ;;\n";
  return out;
}

std::string bash_flags(const option_rules& rules) {
  auto out = std::vector<std::string>{};
  for (const auto& x : rules)
    if (x.value.empty())
      out.push_back(pattern_of(x));
  auto text = std::string{};
  for (const auto& x : out)
    text += (text.empty() ? "" : "|") + x;
  return text;
}

// The script is the first word that is no option and no value of one: behind
// it, words are its own.
std::string bash_script(const option_rules& rules) {
  return "# Completion of actorrun for bash.\n"
         "_actorrun_reply() {\n"
         "  mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\")\n"
         "}\n"
         "_actorrun_value() {\n"
         "  case $1 in\n"
         + bash_value_cases(rules, "    ")
         + "  esac\n"
           "}\n"
           "_actorrun() {\n"
           "  local cur=${COMP_WORDS[COMP_CWORD]} i=1 word\n"
           "  COMPREPLY=()\n"
           "  while ((i < COMP_CWORD)); do\n"
           "    word=${COMP_WORDS[i]}\n"
           "    case $word in\n"
           "      "
         + bash_flags(rules)
         + ") ;;\n"
           "      -[!-]?*) ;;\n"
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
         + quoted_for_shell(names_of(rules))
         + "\n"
           "  else\n"
           "    _actorrun_reply -f\n"
           "  fi\n"
           "}\n"
           "complete -o filenames -F _actorrun actorrun\n";
}

// -- zsh ----------------------------------------------------------------------

/// Text within `[…]` and behind `:` of a specification of `_arguments`.
std::string escaped_for_zsh(const std::string& text) {
  auto out = std::string{};
  for (const auto c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\')
      out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_value(const option_rule& rule) {
  const auto words = words_of(rule);
  auto out = ":" + escaped_for_zsh(rule.value) + ":";
  if (takes_folder(rule))
    out += "_files -/";
  else if (takes_file(rule))
    out += "_files";
  else if (!words.empty())
    out += "(" + joined(words) + ")";
  else
    out += " ";
  return out;
}

std::string zsh_script(const option_rules& rules) {
  auto out = std::string{"#compdef actorrun\n"
                         "# Completion of actorrun for zsh.\n"
                         "_actorrun() {\n"
                         "  _arguments -s -S"};
  for (const auto& x : rules) {
    const auto is_flag = x.value.empty();
    const auto rest = "[" + escaped_for_zsh(purpose_of(x)) + "]"
                      + (is_flag ? "" : zsh_value(x));
    out += " \\\n    " + quoted_for_shell(x.name + (is_flag ? "" : "=") + rest);
    if (x.letter)
      out += " \\\n    "
             + quoted_for_shell(std::string{'-', x.letter}
                                + (is_flag ? "" : "+") + rest);
  }
  return out
         + " \\\n    '1:script:_files' \\\n    '*::argument:_files'\n"
           "}\n"
           "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
           "  _actorrun \"$@\"\n"
           "else\n"
           "  compdef _actorrun actorrun\n"
           "fi\n";
}

// -- fish ---------------------------------------------------------------------

std::string fish_script(const option_rules& rules) {
  auto out = std::string{"# Completion of actorrun for fish.\n"};
  for (const auto& x : rules) {
    out += "complete -c actorrun -l " + x.name.substr(2);
    if (x.letter)
      out += std::string{" -s "} + x.letter;
    const auto words = words_of(x);
    if (takes_folder(x) || takes_file(x))
      out += " -r -F";
    else if (!x.value.empty())
      out += " -x";
    if (!words.empty())
      out += " -a " + quoted_for_fish(joined(words));
    out += " -d " + quoted_for_fish(purpose_of(x)) + "\n";
  }
  return out;
}

// -- tcsh ---------------------------------------------------------------------

/// tcsh completes lists of words; braces and the like would be its own.
std::string tcsh_script(const option_rules& rules) {
  auto out = std::string{"# Completion of actorrun for tcsh.\n"
                         "complete actorrun"};
  auto names = std::vector<std::string>{};
  for (const auto& x : rules) {
    names.push_back(x.name.substr(2));
    const auto words = words_of(x);
    auto list = std::string{};
    if (takes_folder(x))
      list = "d";
    else if (takes_file(x))
      list = "f";
    else if (!words.empty())
      list = "(" + joined(words) + ")";
    if (!list.empty())
      out += " \\\n  'n/" + x.name + "/" + list + "/'";
  }
  return out + " \\\n  'c/--/(" + joined(names) + ")/' \\\n  'p/*/f/'\n";
}

} // namespace

result<shell> parse_shell(std::string_view text) {
  if (text == "bash")
    return shell::bash;
  if (text == "zsh")
    return shell::zsh;
  if (text == "fish")
    return shell::fish;
  if (text == "tcsh")
    return shell::tcsh;
  return bad_argument(quoted(text)
                      + " is no shell we know: bash, zsh, fish, tcsh");
}

std::string completion_script(shell which, const option_rules& rules) {
  const auto options = shown(rules);
  switch (which) {
    case shell::bash:
      return bash_script(options);
    case shell::zsh:
      return zsh_script(options);
    case shell::fish:
      return fish_script(options);
    case shell::tcsh:
      break;
  }
  return tcsh_script(options);
}

} // namespace actorrun::cli
