// Cuts command lines into options and the rest, by the rules of Python's
// argparse.
#pragma once

#include "messages/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace actorrun::cli {

/// How an option is written.
struct spelling {
  std::string name;  ///< With dashes: `--max-restarts`.
  char letter = 0;   ///< `m` for `-m`; 0: there is no short form.
  std::string value; ///< What stands for its value; empty: a flag.
  /// Abbreviations mean options of torchrun first, so that scripts that use them do
  /// not break because we have more options.
  bool is_ours = false;
};

/// One option of a command line.
struct given_option {
  std::string name;   ///< As in `spelling`.
  std::string source; ///< As it was typed, without the value.
  std::string value;  ///< Empty for a flag.

  friend bool operator==(const given_option&, const given_option&) = default;
};

enum class rest_rule {
  remainder, ///< Everything after the first word that is no option is the rest.
  mixed,     ///< Options may stand between and behind the words of the rest.
};

/// The source of `--help`, if all options are asked for.
inline constexpr std::string_view help_on_all = "--help=all";

struct scanned_words {
  std::vector<given_option> options; ///< In the order in which they came.
  std::vector<std::string> rest;
};

/// Cuts `words` (without the program's name).
///
/// `--max-restarts 3`, `--max-restarts=3`, `--max_restarts=3`, `-r 3` and `-r3`
/// are one option; so is `--max-r 3`, for an option may be cut short as long as
/// no other spelling begins in the same way. `-mt3` is `-m -t 3`; `-` is a word, and
/// so is a text with a space that is no option. One `--` directly
/// before or after the first word of the rest is dropped; behind it, everything
/// is rest. A value must not begin with a dash unless it is a negative number or
/// follows a `=`.
/// Once `--help` is found, what comes after it is not read.
/// @retval errc::bad_argument  an option is unknown (the text suggests the
///         nearest), ambiguous, lacks its value, or is a flag and has one
result<scanned_words> scan(const std::vector<std::string>& words,
                           const std::vector<spelling>& known, rest_rule rule);

/// The options in front of the first word that is none, of a line that `scan` may refuse:
/// what is wrong is left out.
std::vector<given_option>
scan_what_is_right(const std::vector<std::string>& words,
                   const std::vector<spelling>& known);

} // namespace actorrun::cli
