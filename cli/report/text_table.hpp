// Aligns the cells of a table for terminals.
#pragma once

#include <string>
#include <vector>

namespace actorrun::cli {

using text_row = std::vector<std::string>;

/// One line per row, indented by two spaces; columns are as wide as their longest
/// cell, in bytes.
/// @pre there is a row, and all rows have as many cells
std::string aligned(const std::vector<text_row>& rows);

} // namespace actorrun::cli
