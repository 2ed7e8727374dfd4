// Defines a program's options as a table of rules: the command line and the
// environment are read with it, and --help, the manual pages and the completion
// scripts are made from it.
#pragma once

#include "cli/options/scan.hpp"
#include "messages/result.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actorrun::cli {

/// Takes a value as it was typed (empty for a flag), or says what is wrong with it.
using value_reader = std::function<result<void>(const std::string& text)>;

struct option_rule {
  std::string name;  ///< With dashes: `--max-restarts`.
  char letter = 0;   ///< `m` for `-m`.
  std::string value; ///< Stands for the value in the help; empty for a flag.
  std::string group; ///< Heading in the help; empty: not in the help.
  /// Running text without a full stop at its end. Completion shows its first
  /// sentence.
  std::string help;
  value_reader read;
  /// Variables that give a value when the command line has none, in order.
  std::vector<std::string> variables = {};
};

using option_rules = std::vector<option_rule>;

void append(option_rules& out, option_rules more);

/// `PET_MAX_RESTARTS` for `--max-restarts`: torchrun's name of the variable.
std::string variable_of(const std::string& name);

/// `-r` and `--redirects`; the short form only if there is one.
std::vector<std::string> names_of(const option_rule& rule);

/// A reader that stores what `parse` makes of the text in `target`, which must
/// live as long as the reader. A `T` may be the optional of what `parse` makes.
template <class T, class Parse>
value_reader into(T& target, Parse parse) {
  return [&target, parse](const std::string& text) -> result<void> {
    auto x = parse(text);
    if (!x)
      return x.error();
    target = *std::move(x);
    return {};
  };
}

/// A reader for text that is taken as it is.
template <class T>
value_reader verbatim(T& target) {
  return [&target](const std::string& text) -> result<void> {
    target = text;
    return {};
  };
}

/// A reader for a flag.
value_reader switch_on(bool& target);

/// `-h`, `--help` and `--version`, which the programs look for before they read
/// any value.
option_rule help_rule(const std::string& group);
option_rule version_rule(const std::string& group);

/// Whether an option is among those that were typed.
/// @param name With dashes: `--max-restarts`.
bool contains(const std::vector<given_option>& typed, std::string_view name);

/// How the options of `rules` are written, and which of them torchrun lacks.
std::vector<spelling> spellings_of(const option_rules& rules);

/// Reads the value of every rule: from the last such option in `given`, otherwise
/// from the first of its variables that is set. A rule with neither is not read.
/// @retval errc::bad_argument  a value is wrong; the text begins with the
///         option as it was typed or with the name of the variable
result<void> read_options(
  const option_rules& rules, const std::vector<given_option>& given,
  const std::function<std::optional<std::string>(const std::string&)>&
    variable);

} // namespace actorrun::cli
