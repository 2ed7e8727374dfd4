// What shells may offer for the options of a program, and how text stands in
// their scripts: what the scripts for the four shells have in common.
#pragma once

#include "cli/options/option_table.hpp"
#include "cli/options/values.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace actorrun::cli {

/// What may stand for the value of an option.
struct value_choice {
  enum class kind {
    anything, ///< There is nothing to offer.
    word,     ///< One of `words`.
    list,     ///< Some of `words`, with commas between them.
    file,
    folder,
  };
  kind is = kind::anything;
  /// Those that end with `=` want more text behind them.
  std::vector<std::string> words{};
};

/// By what stands for the value in the help.
value_choice choice_of(const option_rule& rule);

/// The first sentence of the help, in one line.
std::string purpose_of(const option_rule& rule);

/// `-r` and `--redirects`, the short form only if there is one.
std::vector<std::string> names_of(const option_rule& rule);

/// In single quotes for bash, zsh and tcsh, where nothing else is special.
std::string quoted_for_shell(std::string_view text);

// The scripts, each for the rules that the help shows.

std::string bash_completion(const option_rules& rules);
std::string zsh_completion(const option_rules& rules);
std::string fish_completion(const option_rules& rules);
std::string tcsh_completion(const option_rules& rules);

} // namespace actorrun::cli
