// Writes --help and the manual pages, from what the App of a program knows and from
// the texts around that; the completion scripts are made from the same.
#pragma once

#include "cli/options/command_line.hpp"

#include <string>
#include <utility>
#include <vector>

namespace actorrun::cli {

/// A term and what it means. Texts are running text; paragraphs have an empty line
/// between them.
struct guide_entry {
  std::string term;
  std::string text;
};

/// What only the manual page of a program has.
struct manual_sections {
  std::vector<guide_entry> environment;
  std::vector<guide_entry> signals;
  std::vector<guide_entry> files;
  std::vector<std::string> see_also; ///< `torchrun(1)`
};

/// A program: what its App knows, and the texts around that.
struct program_guide : command_description {
  std::string operand = {}; ///< What is said of the words after the options.
  std::vector<command_description> commands = {}; ///< Empty: it has none.
  /// Names of the options that most people use, in the order of the brief help; empty:
  /// there is none.
  std::vector<std::string> usual = {};
  /// Command lines, each with what it does.
  std::vector<guide_entry> examples = {};
  manual_sections manual = {};
};

program_guide actorrun_guide();
program_guide actorctl_guide();

/// A command line as lines for a shell, at most `limit` columns wide, the further
/// ones indented.
std::vector<std::string> shell_lines(const std::string& command, size_t limit);

/// The text of `NAME --help=all`, at most 80 columns wide.
std::string help_text(const program_guide& guide);

/// The text of `NAME --help`: of the options the usual ones only.
std::string brief_help(const program_guide& guide);

/// The text of `NAME COMMAND --help`.
std::string help_text(const program_guide& program,
                      const command_description& command);

/// The manual page in section 1, in the language of man(7).
/// @param version As in `1.2.3`.
std::string manual_page(const program_guide& guide, const std::string& version);

} // namespace actorrun::cli
