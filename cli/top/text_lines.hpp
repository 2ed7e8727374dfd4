// Makes lines for a page of the live view from what workers have written and where
// they are.
#pragma once

#include "cli/top/cells.hpp"

#include "messages/operator.pb.h"

#include <string>
#include <vector>

namespace actorrun::cli::top {

/// One line each, with its label; then what is missing. Control characters are
/// shown instead of obeyed.
std::vector<line> lines_of(const v1::LogLines& x);

/// As `actorctl stacks` prints it.
std::vector<line> lines_of(const v1::Stacks& x);

/// Why there is no more.
line note_line(const std::string& text);

} // namespace actorrun::cli::top
