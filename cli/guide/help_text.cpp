#include "cli/guide/guide.hpp"
#include "cli/report/exit_code.hpp"
#include "cli/report/text_table.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

namespace actorrun::cli {

namespace {

constexpr size_t width = 80;
constexpr size_t option_column = 32;
constexpr size_t command_column = 16;
constexpr size_t code_column = 9;

/// Appends words to `out`, whose last line has `used` columns; further lines are
/// indented. Ends the line.
void wrap(std::string& out, std::string_view text, size_t used, size_t indent) {
  auto is_first = true;
  while (!text.empty()) {
    const auto word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    const auto size = columns_of(word);
    if (!is_first && used + 1 + size > width) {
      out += "\n" + std::string(indent, ' ');
      used = indent;
      is_first = true;
    }
    if (!is_first)
      out += ' ';
    out += word;
    used += size + (is_first ? 0 : 1);
    is_first = false;
  }
  out += "\n";
}

/// Paragraphs over the whole width.
void add_text(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const auto end = std::min(text.find("\n\n"), text.size());
    wrap(out, text.substr(0, end), 0, 0);
    text.remove_prefix(std::min(end + 2, text.size()));
    if (!text.empty())
      out += "\n";
  }
}

/// A term, and its text from `column` on; in the next line if the term is long.
void add_entry(std::string& out, const std::string& term,
               const std::string& text, size_t column) {
  auto line = "  " + term;
  const auto used = columns_of(line);
  if (used + 2 > column)
    out += line + "\n" + std::string(column, ' ');
  else
    out += line + std::string(column - used, ' ');
  wrap(out, text, column, column);
}

void add_usage(std::string& out, const std::vector<std::string>& usage) {
  auto head = std::string{"Usage: "};
  for (const auto& line : usage) {
    out += head;
    wrap(out, line, head.size(), head.size() + 4);
    head = std::string(head.size(), ' ');
  }
}

/// `-r, --redirects STREAMS`
std::string form_of(const option_text& rule) {
  auto out = rule.letter ? std::string{'-', rule.letter, ',', ' '} : "";
  out += rule.name;
  return rule.value.empty() ? out : out + " " + rule.value;
}

std::string help_of(const option_text& rule) {
  return rule.variables.empty()
           ? rule.help
           : rule.help + " [" + rule.variables.front() + "]";
}

void add_options(std::string& out, const option_texts& rules) {
  auto group = std::string{};
  for (const auto& rule : rules) {
    if (rule.group.empty())
      continue;
    if (rule.group != group)
      out += "\n" + rule.group + ":\n";
    group = rule.group;
    add_entry(out, form_of(rule), help_of(rule), option_column);
  }
}

void add_exit_codes(std::string& out) {
  out += "\nExit codes:\n";
  for (const auto& [code, meaning] : exit_code_table())
    add_entry(out, code, meaning, code_column);
}

} // namespace

std::vector<std::string> shell_lines(const std::string& command, size_t limit) {
  constexpr auto indent = "    ";
  auto out = std::vector<std::string>{""};
  auto words = std::istringstream{command};
  for (auto word = std::string{}; words >> word;) {
    const auto is_first = out.back().empty();
    if (columns_of(out.back()) + 1 + columns_of(word) + 2 > limit) {
      out.back() += " \\";
      out.push_back(indent + word);
    } else {
      out.back() += (is_first ? "" : " ") + word;
    }
  }
  return out;
}

std::string help_text(const program_guide& guide) {
  auto out = std::string{};
  add_text(out, guide.text);
  out += "\n";
  add_usage(out, guide.usage);
  if (!guide.operand.empty()) {
    out += "\n";
    add_text(out, guide.operand);
  }
  if (!guide.examples.empty()) // Most look for one of these.
    out += "\nExamples:\n";
  for (const auto& x : guide.examples)
    for (const auto& line : shell_lines(x.term, width - 2))
      out += "  " + line + "\n";
  if (!guide.commands.empty())
    out += "\nCommands:\n";
  for (const auto& x : guide.commands)
    add_entry(out, x.name, x.purpose, command_column);
  add_options(out, guide.options);
  add_exit_codes(out);
  return out;
}

std::string brief_help(const program_guide& guide) {
  auto out = std::string{};
  add_text(out, guide.text);
  out += "\n";
  add_usage(out, guide.usage);
  out += "\nExamples:\n";
  for (const auto& x : guide.examples)
    for (const auto& line : shell_lines(x.term, width - 2))
      out += "  " + line + "\n";
  out += "\nThe usual options:\n";
  for (const auto& name : guide.usual) {
    const auto i = std::ranges::find(guide.options, name, &option_text::name);
    if (i != guide.options.end())
      add_entry(out, form_of(*i), help_of(*i), option_column);
  }
  const auto count = std::ranges::count_if(
    guide.options, [](const auto& x) { return !x.group.empty(); });
  wrap(out += "\n",
       formatted("All {} options, and exit codes: {} --help=all, man {}", count,
                 guide.name, guide.name),
       0, 0);
  return out;
}

std::string help_text(const program_guide& program,
                      const command_description& command) {
  auto out = std::string{};
  add_text(out, command.text);
  out += "\n";
  add_usage(out, command.usage);
  add_options(out, command.options);
  wrap(out += "\n",
       "Exit codes and examples: " + program.name + " --help, man "
         + program.name,
       0, 0);
  return out;
}

} // namespace actorrun::cli
