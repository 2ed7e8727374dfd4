#include "cli/top/text_lines.hpp"

#include "actors/core/text.hpp"
#include "cli/report/log_view.hpp"

#include <algorithm>
#include <string_view>

namespace actorrun::cli::top {

namespace {

/// In bytes. What is behind that would fill a terminal on its own.
constexpr size_t line_size_max = 4'096;

constexpr size_t tab_width = 8;

/// Cells have no tabs.
std::string with_spaces(const std::string& text) {
  auto out = std::string{};
  for (const auto c : text)
    if (c == '\t')
      out.append(tab_width - width_of(out) % tab_width, ' ');
    else
      out += c;
  return out;
}

std::string shown(std::string_view text) {
  return with_spaces(core::printable(core::beginning_of(text, line_size_max)));
}

/// Calls `fn` for each line, without its end.
template <class Function>
void for_each_line(std::string_view text, Function fn) {
  while (!text.empty()) {
    const auto size = std::min(text.find('\n'), text.size());
    fn(text.substr(0, size));
    text.remove_prefix(std::min(size + 1, text.size()));
  }
}

} // namespace

std::vector<line> lines_of(const v1::LogLines& x) {
  auto out = std::vector<line>{};
  for_each_line(to_text(x, false), [&](std::string_view text) {
    const auto label = std::min(text.find(':') + 1, text.size());
    out.push_back({{shown(text.substr(0, label)), style::dim},
                   {shown(text.substr(label))}});
  });
  if (!x.trouble().empty())
    out.push_back(note_line(x.trouble()));
  return out;
}

std::vector<line> lines_of(const v1::Stacks& x) {
  auto out = std::vector<line>{};
  for_each_line(to_text(x), [&](std::string_view text) {
    const auto is_head = text.starts_with("rank ") || out.empty();
    out.push_back(
      {{" " + shown(text), is_head ? style::strong : style::plain}});
  });
  if (!x.trouble().empty())
    out.push_back(note_line(x.trouble()));
  return out;
}

line note_line(const std::string& text) {
  return {{" - " + shown(text), style::warning}};
}

} // namespace actorrun::cli::top
