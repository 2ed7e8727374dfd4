// Aligns the cells of a table for terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace actorrun::cli {

using text_row = std::vector<std::string>;

/// Columns that a UTF-8 text takes, if each of its characters takes one.
size_t columns_of(std::string_view text);

/// One line per row, indented by two spaces; columns are as wide as their longest
/// cell.
/// @pre there is a row, and all rows have as many cells
std::string aligned(const std::vector<text_row>& rows);

} // namespace actorrun::cli
