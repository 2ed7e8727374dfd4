#include "cli/report/text_table.hpp"

#include <algorithm>

namespace actorrun::cli {

std::string aligned(const std::vector<text_row>& rows) {
  auto widths = std::vector<size_t>(rows.front().size());
  for (const auto& cells : rows)
    for (size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], cells[i].size());
  auto text = std::string{};
  for (const auto& cells : rows) {
    auto line = std::string{"  "};
    for (size_t i = 0; i < cells.size(); ++i)
      line += cells[i] + std::string(widths[i] - cells[i].size() + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

} // namespace actorrun::cli
