#include "cli/options/option_table.hpp"

#include "cli/options/torchrun_options.hpp"
#include "cli/options/values.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>

namespace actorrun::cli {

namespace {

constexpr size_t name_column = 80 - help_line_max;

/// The value of one option and who gave it, for messages.
struct setting {
  std::string source;
  std::string value;
};

using settings = std::map<std::string, setting>;

/// Names for CLI11: `-m,--module`.
std::string names_of(const option_rule& rule) {
  return rule.letter ? std::string{'-', rule.letter, ','} + rule.name
                     : rule.name;
}

/// The help of a rule, and the variable behind it if there is one.
std::string description_of(const option_rule& rule) {
  if (rule.variables.empty())
    return rule.help;
  const auto variable = "[" + rule.variables.front() + "]";
  const auto line_start = rule.help.rfind('\n') + 1;
  const auto used = rule.help.size() - line_start;
  const auto fits = used + 1 + variable.size() <= help_line_max;
  return rule.help + (fits ? " " : "\n") + variable;
}

/// What to add when an empty value is refused: it is hardly what was meant.
std::string remark_on_empty(const setting& x) {
  if (!trimmed(x.value).empty())
    return "";
  return x.source.starts_with('-')
           ? "; the value is empty, maybe a variable of the shell is not set"
           : "; it is set and empty: unset it, or give it a value";
}

void define(CLI::App& app, const option_rules& rules) {
  app.set_help_flag(); // Ours is a rule like every other.
  for (const auto& rule : rules) {
    const auto names = names_of(rule);
    const auto text = description_of(rule);
    if (rule.value.empty())
      app.add_flag(names, text)->group(rule.group);
    else
      app.add_option(names, text)->type_name(rule.value)->group(rule.group);
  }
}

result<settings> settings_from(
  const option_rules& rules, const std::vector<given_option>& given,
  const std::function<std::optional<std::string>(const std::string&)>&
    variable) {
  settings out;
  for (const auto& x : given)
    out[x.name] = {x.source, x.value};
  for (const auto& rule : rules) {
    for (const auto& name : rule.variables) {
      const auto value = variable(name);
      if (!value || out.count(rule.name) > 0)
        continue;
      if (!rule.value.empty()) {
        out[rule.name] = {name, *value};
        continue;
      }
      const auto is_on = parse_flag_variable(*value);
      if (!is_on)
        return bad_argument(name + ": " + is_on.error().text);
      if (*is_on)
        out[rule.name] = {name, ""};
      break; // The first that is set counts, whatever it says.
    }
  }
  return out;
}

class help_formatter : public CLI::Formatter {
public:
  explicit help_formatter(std::string usage) : usage_(std::move(usage)) {
    column_width(name_column);
  }

  std::string make_usage(const CLI::App*, std::string) const override {
    return usage_ + "\n";
  }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return CLI::detail::find_and_replace(
      CLI::Formatter::make_help(app, name, mode), "\n\n\n", "\n\n");
  }

private:
  std::string usage_;
};

} // namespace

std::string variable_of(const std::string& name) {
  std::string out = "PET_";
  for (const auto c : name.substr(2))
    out += c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return out;
}

value_reader switch_on(bool& target) {
  return [&target](const std::string&) -> std::optional<failure> {
    target = true;
    return std::nullopt;
  };
}

std::vector<spelling> spellings_of(const option_rules& rules) {
  std::vector<spelling> out;
  for (const auto& rule : rules)
    out.push_back(
      {rule.name, rule.letter, rule.value, !is_torchrun_option(rule.name)});
  return out;
}

std::optional<failure> read_options(
  const option_rules& rules, const std::vector<given_option>& given,
  const std::function<std::optional<std::string>(const std::string&)>&
    variable) {
  const auto values = settings_from(rules, given, variable);
  if (!values)
    return values.error();
  std::optional<failure> first;
  for (const auto& rule : rules) {
    const auto i = values->find(rule.name);
    if (i == values->end())
      continue;
    const auto& from = i->second;
    const auto why = rule.read(from.value);
    if (why && !first)
      first = failure{why->code,
                      from.source + ": " + why->text + remark_on_empty(from)};
  }
  return first;
}

std::string help_text(const option_rules& rules, const help_frame& frame) {
  CLI::App app{frame.intro};
  app.formatter(std::make_shared<help_formatter>(frame.usage));
  define(app, rules);
  for (const auto& [name, purpose] : frame.commands)
    app.add_subcommand(name, purpose)->group("Commands");
  app.footer(frame.end);
  return app.help();
}

} // namespace actorrun::cli
