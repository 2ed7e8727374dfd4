// Defines what the scripts for the four shells have in common: what is offered for
// an option, and how text is quoted.
#pragma once

#include "cli/guide/guide.hpp"
#include "cli/options/command_line.hpp"
#include "cli/options/values.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actorrun::cli {

/// The values that can be offered for an option.
struct value_choice {
  enum class kind {
    anything, ///< There is nothing to offer.
    word,     ///< One of `words`.
    list,     ///< Some of `words`, with commas between them.
    file,
    folder,
  };
  kind is = kind::anything;
  /// A word that ends with `=` is followed by more text.
  std::vector<std::string> words{};
};

/// Derived from the word that stands for the value in the help.
value_choice choice_of(const option_text& rule);

/// The first sentence of the help, in one line.
std::string purpose_of(const option_text& rule);

/// In single quotes for bash, zsh and tcsh, in which only the quote is special.
std::string quoted_for_shell(std::string_view text);

/// The names of the commands of a program.
std::vector<std::string> command_names(const program_guide& program);

/// The options in front of a command, under an empty name, and those of each
/// command.
std::vector<std::pair<std::string, option_texts>>
scopes_of(const program_guide& program);

// The scripts, for options that the help shows.

std::string bash_completion(const program_guide& program);
std::string zsh_completion(const program_guide& program);
std::string fish_completion(const program_guide& program);
std::string tcsh_completion(const program_guide& program);

} // namespace actorrun::cli
