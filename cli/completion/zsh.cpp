#include "cli/completion/parts.hpp"

#include <algorithm>

namespace actorrun::cli {

namespace {

/// Text within `[…]` and behind `:` of a specification of `_arguments`.
std::string escaped(const std::string& text) {
  auto out = std::string{};
  for (const auto c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\')
      out += '\\';
    out += c;
  }
  return out;
}

/// A call of `_values`, which leaves out what is in the list already. `key=`
/// becomes a specification with a value, of which nothing is known.
std::string list_of(const value_choice& choice) {
  auto out = std::string{" _values -s , value"};
  for (const auto& x : choice.words)
    out += x.ends_with('=') ? " " + x.substr(0, x.size() - 1) + "\\:value\\:\\ "
                            : " " + x;
  return out;
}

std::string zsh_values(const option_text& rule) {
  const auto choice = choice_of(rule);
  const auto head = ":" + escaped(rule.value) + ":";
  switch (choice.is) {
    case value_choice::kind::word:
      return head + "(" + joined_with(choice.words, " ") + ")";
    case value_choice::kind::list:
      return head + list_of(choice);
    case value_choice::kind::file:
      return head + "_files";
    case value_choice::kind::folder:
      return head + "_files -/";
    case value_choice::kind::anything:
      break;
  }
  return head + " ";
}

/// One argument of `_arguments`.
std::string specification(const std::string& text) {
  return " \\\n    " + quoted_for_shell(text);
}

std::string specifications_of(const option_text& rule) {
  const auto is_flag = rule.value.empty();
  const auto values = is_flag ? "" : zsh_values(rule);
  const auto purpose = "[" + escaped(purpose_of(rule)) + "]";
  const auto* sign = is_flag ? "" : "=";
  auto out = specification(rule.name + sign + purpose + values);
  auto underscores = rule.name;
  std::replace(underscores.begin() + 2, underscores.end(), '-', '_');
  if (underscores != rule.name) // Known, and not offered.
    out += specification("!" + underscores + sign + values);
  if (rule.letter)
    out += specification(std::string{'-', rule.letter} + (is_flag ? "" : "+")
                         + purpose + values);
  return out;
}

std::string specifications_of(const option_texts& rules) {
  auto out = std::string{};
  for (const auto& x : rules)
    out += specifications_of(x);
  return out;
}

/// After the first word that is no option, options are the script's.
std::string script_arguments(const program_guide& program) {
  return "  _arguments -s -S -A '-*'" + specifications_of(program.options)
         + specification("1:script:_files")
         + specification("*::argument:_files") + "\n";
}

/// The command is the first word that is no option; its own options follow. Names
/// of jobs are not offered: a message in their place would keep zsh from inserting
/// the one option that fits.
std::string command_arguments(const program_guide& program) {
  auto names = std::string{};
  for (const auto& x : program.commands)
    names += (names.empty() ? "" : " ") + x.name + "\\:\"" + escaped(x.purpose)
             + "\"";
  auto out
    = "  local curcontext=$curcontext state line\n"
      "  _arguments -s -S -C -A '-*'"
      + specifications_of(program.options)
      + specification("1:command:((" + names + "))")
      + specification("*::argument:->argument")
      + "\n  local found=$?\n  [[ $state == argument ]] || return $found\n"
        "  case $line[1] in\n";
  for (const auto& x : program.commands)
    out += "    " + x.name + ")\n  _arguments -s -S"
           + specifications_of(x.options) + " ;;\n";
  return out + "  esac\n";
}

} // namespace

std::string zsh_completion(const program_guide& program) {
  const auto& name = program.name;
  return "#compdef " + name + "\n# Completion of " + name + " for zsh.\n_"
         + name + "() {\n"
         + (program.commands.empty() ? script_arguments(program)
                                     : command_arguments(program))
         + "}\n"
           "if [[ $zsh_eval_context[-1] == loadautofunc ]]; then\n"
           "  _"
         + name
         + " \"$@\"\n"
           "else\n"
           "  compdef _"
         + name + " " + name + "\nfi\n";
}

} // namespace actorrun::cli
