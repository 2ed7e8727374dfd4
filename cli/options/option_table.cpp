#include "cli/options/option_table.hpp"

#include "cli/options/torchrun_options.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"

#include <algorithm>
#include <cctype>

namespace actorrun::cli {

namespace {

using variable_lookup
  = std::function<std::optional<std::string>(const std::string&)>;

/// The value of one option, and its source for messages.
struct setting {
  std::string source;
  std::string value;
};

const auto read_nothing
  = value_reader{[](const std::string&) { return result<void>{}; }};

/// An empty value that is refused is probably a mistake in a script.
std::string remark_on_empty(const setting& x) {
  if (!trimmed(x.value).empty())
    return "";
  return x.source.starts_with('-')
           ? "; the value is empty, maybe a variable of the shell is not set"
           : "; it is set and empty: unset it, or give it a value";
}

/// The last one that was typed counts.
std::optional<setting> typed_for(const option_rule& rule,
                                 const std::vector<given_option>& given) {
  const auto i = std::find_if(given.rbegin(), given.rend(), [&](const auto& x) {
    return x.name == rule.name;
  });
  if (i == given.rend())
    return std::nullopt;
  return setting{i->source, i->value};
}

/// The first variable that is set counts, even if it turns a flag off.
result<std::optional<setting>> variable_for(const option_rule& rule,
                                            const variable_lookup& variable) {
  using found = std::optional<setting>;
  for (const auto& name : rule.variables) {
    const auto value = variable(name);
    if (!value)
      continue;
    if (!rule.value.empty())
      return found{{name, *value}};
    const auto is_on = parse_flag_variable(*value);
    if (!is_on)
      return bad_argument(name + ": " + is_on.error().text);
    return *is_on ? found{{name, ""}} : found{};
  }
  return found{};
}

} // namespace

void append(option_rules& out, option_rules more) {
  for (auto& rule : more)
    out.push_back(std::move(rule));
}

std::string variable_of(const std::string& name) {
  std::string out = "PET_";
  for (const auto c : name.substr(2))
    out += c == '-' ? '_' : static_cast<char>(std::toupper(c));
  return out;
}

std::vector<std::string> names_of(const option_rule& rule) {
  if (rule.letter == 0)
    return {rule.name};
  return {std::string{'-', rule.letter}, rule.name};
}

value_reader switch_on(bool& target) {
  return [&target](const std::string&) -> result<void> {
    target = true;
    return {};
  };
}

option_rule help_rule(const std::string& group) {
  return {"--help", 'h', "", group, "print this help", read_nothing};
}

option_rule version_rule(const std::string& group) {
  return {"--version", 0, "", group, "print the version", read_nothing};
}

bool contains(const std::vector<given_option>& typed, std::string_view name) {
  return std::any_of(typed.begin(), typed.end(),
                     [&](const auto& x) { return x.name == name; });
}

std::vector<spelling> spellings_of(const option_rules& rules) {
  std::vector<spelling> out;
  for (const auto& rule : rules)
    out.push_back(
      {rule.name, rule.letter, rule.value, !is_torchrun_option(rule.name)});
  return out;
}

result<void> read_options(const option_rules& rules,
                          const std::vector<given_option>& given,
                          const variable_lookup& variable) {
  for (const auto& rule : rules) {
    auto found = typed_for(rule, given);
    if (!found) {
      auto set = variable_for(rule, variable);
      if (!set)
        return set.error();
      found = *std::move(set);
    }
    if (!found)
      continue;
    if (const auto ok = rule.read(found->value); !ok)
      return failure{ok.error().code,
                     formatted("{}: {}{}", found->source, ok.error().text,
                               remark_on_empty(*found))};
  }
  return {};
}

} // namespace actorrun::cli
