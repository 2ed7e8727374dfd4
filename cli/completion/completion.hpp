// Writes the scripts with which shells complete the command lines of the programs.
#pragma once

#include "cli/guide/guide.hpp"
#include "cli/options/common_options.hpp"

#include <string>

namespace actorrun::cli {

/// A script that the shell reads once. It completes the names of commands and of
/// the options that the help shows, values that are words, and files. Names are
/// completed with dashes. After the script of `actorrun`, only files are completed;
/// tcsh cannot tell where that is.
std::string completion_script(shell which, const program_guide& program);

} // namespace actorrun::cli
