// Describes the command line of a program as one CLI::App, and reads it with that.
// Help, manual pages, completions and hints are made from the same App. The headers
// of CLI11 stay in command_line.cpp.
#pragma once

#include "cli/options/scan.hpp"
#include "messages/result.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace CLI {
class App;
}

namespace actorrun::cli {

/// Takes a value as it was typed, or says what is wrong with it.
using value_reader = std::function<result<void>(const std::string& text)>;

/// A reader that stores what `parse` makes of the text in `target`, which must
/// live as long as the reader. A `T` may be the optional of what `parse` makes.
template <class T, class Parse>
value_reader into(T& target, Parse parse) {
  return [&target, parse](const std::string& text) -> result<void> {
    auto x = parse(text);
    if (!x)
      return x.error();
    target = std::move(*x);
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

// -- describing ---------------------------------------------------------------

/// A program, or a command of a program that has several, in words. Texts are
/// running text; paragraphs have an empty line between them.
struct command_texts {
  std::string name;    ///< `status`
  std::string purpose; ///< In one line, without a full stop.
  std::string text;
  std::vector<std::string> usage; ///< `actorctl status [OPTIONS] [JOB]`
};

/// A program without options.
std::shared_ptr<CLI::App> make_program(command_texts texts);

CLI::App& add_command(CLI::App& program, command_texts texts);

/// Adds options below one heading of the help. Targets must outlive the App, and so
/// must names and words for values: literals do.
class option_adder {
public:
  /// @param heading Empty: the options are not in the help.
  option_adder(CLI::App& app, const std::string& heading);

  /// @param name     `--redirects` or `-r,--redirects`.
  /// @param value    Stands for the value in the help.
  /// @param help     Running text without a full stop at its end. Completion shows
  ///                 its first sentence.
  /// @param variable One that is read after the option's own.
  void operator()(const char* name, const char* value, std::string help,
                  value_reader read, const char* variable = "");
  void operator()(const char* name, const char* value, std::string help,
                  std::string& target, const char* variable = "");
  /// May be given several times.
  void operator()(const char* name, const char* value, std::string help,
                  std::vector<std::string>& target);
  void operator()(const char* name, std::string help, bool& target,
                  const char* variable = "");

private:
  CLI::App* group_;
};

/// Gives each option whose name `has_one` accepts its variable.
void name_variables(CLI::App& program, bool (*has_one)(std::string_view name));

inline constexpr std::string_view option_variable_prefix = "PET_";

/// The flag by which no variable of an option is read.
inline constexpr auto no_variables_option = "--no-pet";

/// `PET_MAX_RESTARTS` for `--max-restarts`: torchrun's name of the variable.
std::string variable_of(const std::string& name);

// -- explaining ---------------------------------------------------------------

/// An option, as the App has it.
struct option_text {
  std::string name;  ///< With dashes: `--max-restarts`.
  char letter = 0;   ///< `m` for `-m`.
  std::string value; ///< Stands for the value; empty for a flag.
  std::string group; ///< Heading in the help; empty: not in the help.
  std::string help;
  /// Variables that give a value when the command line has none, in order.
  std::vector<std::string> variables = {};
};

using option_texts = std::vector<option_text>;

/// `-r` and `--redirects`; the short form only if there is one.
std::vector<std::string> names_of(const option_text& option);

/// A program with the options in front of its command, or a command with its own.
struct command_description : command_texts {
  option_texts options = {};
};

command_description describe(const CLI::App& app);

/// Empty if the program has no commands.
std::vector<command_description> describe_commands(const CLI::App& program);

/// `status, why and secret`
std::string listed_commands(const CLI::App& program);

// -- reading ------------------------------------------------------------------

/// Whether an option is among those that were typed.
/// @param name With dashes: `--max-restarts`.
bool contains(const std::vector<given_option>& typed, std::string_view name);

/// Of the environment; none if it is not set.
using variable_lookup
  = std::function<std::optional<std::string>(const std::string& name)>;

/// A command line that has been read.
struct command_line : scanned_words {
  std::string command; ///< Empty: there is none.
};

/// Stores the value of every option in its target: that of the last such option (a list
/// has them all) in `words`, or else of the first of its variables that is set. The target of an
/// option with neither stays as it is. After `--help` or `--version` there is
/// nothing else to read.
/// @param words    Without the program's name.
/// @param variable Needed if options have variables.
/// @retval errc::bad_argument  as `scan`; there is no such command; or a value is
///         wrong: the text begins with the option as it was typed or with the
///         name of the variable
result<command_line> read_words(CLI::App& program,
                                const std::vector<std::string>& words,
                                const variable_lookup& variable = {});

/// The value of an option in a line that may be refused; empty: it cannot be told. What
/// is no option, and is not the value of one that is known, ends the search: a script may
/// have an option of the same name.
std::string value_if_any(CLI::App& program,
                         const std::vector<std::string>& words,
                         std::string_view name);

} // namespace actorrun::cli
