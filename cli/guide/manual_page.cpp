#include "cli/guide/guide.hpp"
#include "cli/report/exit_code.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace actorrun::cli {

namespace {

/// In columns: with the margins, 80.
constexpr size_t example_width = 62;

/// Text of which nothing is special to roff. Dashes are minus signs, so that
/// options can be copied from the page and be searched for.
std::string escaped(std::string_view text) {
  constexpr std::string_view ellipsis = "…";
  auto out = std::string{};
  for (size_t i = 0; i < text.size(); ++i) {
    const auto is_line_start = i == 0 || text[i - 1] == '\n';
    if (is_line_start && (text[i] == '.' || text[i] == '\''))
      out += "\\&";
    if (text.substr(i).starts_with(ellipsis)) {
      out += "...";
      i += ellipsis.size() - 1;
    } else if (text[i] == '-') {
      out += "\\-";
    } else if (text[i] == '\\') {
      out += "\\e";
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string bold(std::string_view text) {
  return "\\fB" + escaped(text) + "\\fR";
}

std::string italic(std::string_view text) {
  return "\\fI" + escaped(text) + "\\fR";
}

/// A sentence with a capital letter and a full stop, as manual pages have them.
std::string sentence(std::string text) {
  if (text.empty())
    return text;
  text[0]
    = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  return text.ends_with('.') ? text : text + ".";
}

void add_section(std::string& out, const std::string& title) {
  out += ".SH " + title + "\n";
}

void add_paragraphs(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const auto end = std::min(text.find("\n\n"), text.size());
    out += ".PP\n" + escaped(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 2, text.size()));
  }
}

void add_item(std::string& out, const std::string& term,
              const std::string& text) {
  out += ".TP\n" + term + "\n" + escaped(text) + "\n";
}

/// `actorrun [OPTIONS] SCRIPT`: words in small letters are typed as they are, those
/// in capitals stand for others.
std::string usage_line(const std::string& line) {
  auto out = std::string{};
  auto word = std::string{};
  const auto is_placeholder = [](const std::string& x) {
    return std::any_of(x.begin(), x.end(),
                       [](unsigned char c) { return std::isupper(c); });
  };
  const auto flush = [&] {
    out += word.empty() ? "" : is_placeholder(word) ? italic(word) : bold(word);
    word.clear();
  };
  for (const auto c : line) {
    if (std::isalnum(static_cast<unsigned char>(c)) || c == '-') {
      word += c;
      continue;
    }
    flush();
    out += c;
  }
  flush();
  for (auto i = out.find("…"); i != out.npos; i = out.find("…"))
    out.replace(i, std::string_view{"…"}.size(), "...");
  return out;
}

void add_synopsis(std::string& out, const std::vector<std::string>& usage) {
  out += ".PP\n";
  for (size_t i = 0; i < usage.size(); ++i)
    out += (i == 0 ? "" : ".br\n") + usage_line(usage[i]) + "\n";
}

void add_option(std::string& out, const option_text& rule) {
  auto term = std::string{};
  for (const auto& name : names_of(rule))
    term += (term.empty() ? "" : ", ") + bold(name);
  if (!rule.value.empty())
    term += " " + italic(rule.value);
  auto text = sentence(rule.help);
  if (!rule.variables.empty())
    text += rule.variables.size() == 1 ? " Variable:" : " Variables:";
  for (size_t i = 0; i < rule.variables.size(); ++i)
    text += (i == 0 ? " " : ", ") + rule.variables[i];
  if (!rule.variables.empty())
    text += ".";
  add_item(out, term, text);
}

void add_option_items(std::string& out, const option_texts& rules,
                      bool shows_groups) {
  auto group = std::string{};
  for (const auto& rule : rules) {
    if (rule.group.empty())
      continue;
    if (shows_groups && rule.group != group)
      out += ".SS " + escaped(rule.group) + "\n";
    group = rule.group;
    add_option(out, rule);
  }
}

void add_entries(std::string& out, const std::string& title,
                 const std::vector<guide_entry>& entries) {
  if (entries.empty())
    return;
  add_section(out, title);
  for (const auto& x : entries)
    add_item(out, bold(x.term), sentence(x.text));
}

void add_examples(std::string& out, const std::vector<guide_entry>& examples) {
  add_section(out, "EXAMPLES");
  for (const auto& x : examples) {
    out += ".PP\n" + escaped(x.text) + "\n.PP\n.RS\n.nf\n";
    for (const auto& line : shell_lines(x.term, example_width))
      out += escaped(line) + "\n";
    out += ".fi\n.RE\n";
  }
}

/// `actorrun(1)`: the name in bold.
void add_references(std::string& out, const std::vector<std::string>& names) {
  add_section(out, "SEE ALSO");
  for (size_t i = 0; i < names.size(); ++i) {
    const auto bracket = names[i].find('(');
    out += ".BR " + escaped(names[i].substr(0, bracket)) + " "
           + names[i].substr(bracket) + (i + 1 < names.size() ? " ,\n" : "\n");
  }
}

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return text;
}

} // namespace

std::string manual_page(const program_guide& guide,
                        const std::string& version) {
  auto out = ".\\\" Made from the options of " + guide.name + ".\n.TH "
             + in_capitals(guide.name) + " 1 \"\" \"actorrun " + version
             + "\" \"User Commands\"\n";
  // Words with dashes are to stay whole. From groff 1.23 on, each paragraph
  // adjusts as the string AD says.
  out += ".nh\n.ad l\n.ds AD l\n";
  add_section(out, "NAME");
  out += guide.name + " \\- " + escaped(guide.purpose) + "\n";
  add_section(out, "SYNOPSIS");
  add_synopsis(out, guide.usage);
  for (const auto& x : guide.commands)
    add_synopsis(out, x.usage);
  add_examples(out, guide.examples); // Most look for one of these.
  add_section(out, "DESCRIPTION");
  add_paragraphs(out, guide.text);
  add_paragraphs(out, guide.operand);
  for (const auto& x : guide.commands) {
    add_section(out, "COMMAND " + in_capitals(x.name));
    add_paragraphs(out, x.text);
    add_option_items(out, x.options, false);
  }
  add_section(out, "OPTIONS");
  add_option_items(out, guide.options, guide.commands.empty());
  add_entries(out, "ENVIRONMENT", guide.manual.environment);
  add_section(out, "EXIT STATUS");
  for (const auto& [code, meaning] : exit_code_table())
    add_item(out, bold(code), sentence(meaning));
  add_entries(out, "SIGNALS", guide.manual.signals);
  add_entries(out, "FILES", guide.manual.files);
  add_references(out, guide.manual.see_also);
  return out;
}

} // namespace actorrun::cli
