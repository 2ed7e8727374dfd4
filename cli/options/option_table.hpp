// The options of a program as a table of rules. CLI11 lays out their help; no
// other file knows it.
#pragma once

#include "cli/options/scan.hpp"
#include "messages/result.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::cli {

/// Takes what was typed (nothing for a flag) or says what is wrong with it.
using value_reader
  = std::function<std::optional<failure>(const std::string& text)>;

struct option_rule {
  std::string name;  ///< With dashes: `--max-restarts`.
  char letter = 0;   ///< `m` for `-m`.
  std::string value; ///< What stands for the value in the help; none: a flag.
  std::string group; ///< Heading in the help; none: not in the help.
  std::string help;  ///< Lines of at most `help_line_max` characters.
  value_reader read;
  /// Variables that give a value when the command line has none, in order.
  std::vector<std::string> variables = {};
};

using option_rules = std::vector<option_rule>;

/// In characters: together with the column of the names, 80.
inline constexpr size_t help_line_max = 48;

/// `PET_MAX_RESTARTS` for `--max-restarts`: torchrun's name of the variable.
std::string variable_of(const std::string& name);

/// A reader that puts what `parse` makes of the text into `target`, which must
/// live as long as the reader. A `T` may be the optional of what `parse` makes.
template <class T, class Parse>
value_reader into(T& target, Parse parse) {
  return [&target, parse](const std::string& text) -> std::optional<failure> {
    auto x = parse(text);
    if (!x)
      return x.error();
    target = *std::move(x);
    return std::nullopt;
  };
}

/// A reader for text that is taken as it is.
template <class T>
value_reader verbatim(T& target) {
  return [&target](const std::string& text) -> std::optional<failure> {
    target = text;
    return std::nullopt;
  };
}

/// A reader for a flag.
value_reader switch_on(bool& target);

/// How the options of `rules` are written, and which of them are ours.
std::vector<spelling> spellings_of(const option_rules& rules);

/// Gives every rule the value it has: from the last such option in `given`, or
/// else from the first of its variables that is set, or none.
/// @retval errc::bad_argument  a value is wrong; the text begins with the
///         option as it was typed or with the name of the variable
std::optional<failure> read_options(
  const option_rules& rules, const std::vector<given_option>& given,
  const std::function<std::optional<std::string>(const std::string&)>&
    variable);

/// What a help text says around its options.
struct help_frame {
  std::string intro;
  std::string usage; ///< Complete lines.
  std::string end;
  /// Names and purposes of the commands of the program, if it has any.
  std::vector<std::pair<std::string, std::string>> commands = {};
};

std::string help_text(const option_rules& rules, const help_frame& frame);

} // namespace actorrun::cli
