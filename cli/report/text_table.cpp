#include "cli/report/text_table.hpp"

#include <algorithm>

namespace actorrun::cli {

size_t columns_of(std::string_view text) {
  return static_cast<size_t>(
    std::count_if(text.begin(), text.end(),
                  [](unsigned char c) { return (c & 0xC0) != 0x80; }));
}

std::string aligned(const std::vector<text_row>& rows) {
  auto widths = std::vector<size_t>(rows.front().size());
  for (const auto& cells : rows)
    for (size_t i = 0; i < cells.size(); ++i)
      widths[i] = std::max(widths[i], columns_of(cells[i]));
  auto text = std::string{};
  for (const auto& cells : rows) {
    auto line = std::string{"  "};
    for (size_t i = 0; i < cells.size(); ++i)
      line += cells[i] + std::string(widths[i] - columns_of(cells[i]) + 2, ' ');
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

} // namespace actorrun::cli
