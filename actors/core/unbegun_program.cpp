#include "actors/core/unbegun_program.hpp"

#include "actors/core/text.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

namespace actorrun::core {

namespace {

using lines = std::vector<std::string_view>;

constexpr auto traceback_head
  = std::string_view{"Traceback (most recent call last):"};
constexpr auto place_head = std::string_view{"  File \""};
constexpr auto place_middle = std::string_view{"\", line "};

/// The exit codes of Python after an error, and after one in its own arguments, and that
/// of the dynamic linker.
constexpr auto code_of_error = 1;
constexpr auto code_of_usage = 2;
constexpr auto code_of_linker = 127;

/// Without those at the end that hold nothing.
lines written_lines(std::string_view text) {
  auto out = lines{};
  while (!text.empty())
    out.push_back(take_until(text, '\n'));
  while (!out.empty() && out.back().find_first_not_of(" \r\t") == text.npos)
    out.pop_back();
  return out;
}

bool is_compile_error(std::string_view line) {
  constexpr auto heads = std::array<std::string_view, 3>{
    "SyntaxError: ", "IndentationError: ", "TabError: "};
  return std::ranges::any_of(heads,
                             [&](auto x) { return line.starts_with(x); });
}

/// `  File "train.py", line 3`; a frame of a traceback goes on with `, in …`.
struct place {
  std::string_view path;
  std::string_view rest; ///< From the number on.
};

bool read_place(std::string_view line, place& out) {
  if (!line.starts_with(place_head))
    return false;
  line.remove_prefix(place_head.size());
  const auto end = line.rfind(place_middle);
  if (end == line.npos)
    return false;
  out = {line.substr(0, end), line.substr(end + place_middle.size())};
  return true;
}

bool is_number(std::string_view x) {
  return !x.empty()
         && std::ranges::all_of(x, [](char c) { return c >= '0' && c <= '9'; });
}

bool is_pythons_own(std::string_view path) {
  return path.starts_with("<frozen ") || path.ends_with("/runpy.py");
}

/// Whether the program was at work, according to the lines in front of an error. That
/// they are no more than the end of a traceback counts as that.
bool has_begun(const lines& all, size_t end) {
  auto i = end;
  auto is_ours = false;
  auto frame = place{};
  for (; i > 0 && all[i - 1].starts_with("  "); --i)
    if (read_place(all[i - 1], frame))
      is_ours = is_ours || !is_pythons_own(frame.path);
  if (i == 0)
    return end > 0;
  // Other words, such as a warning with the line that it is about, are no traceback;
  // but what was in front of a text that `last_whole_lines` has cut is not known.
  if (all[i - 1] != traceback_head)
    return all[i - 1].ends_with(" earlier lines left out]");
  return is_ours || i == end;
}

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1); // All of it if there is none.
}

/// `SyntaxError: invalid syntax (train.py, line 3)`
std::string compile_error(const lines& all) {
  const auto error = all.back();
  if (!is_compile_error(error))
    return {};
  // Between the place and the error are the line of the program and marks below it.
  constexpr auto quoted_max = size_t{2};
  auto i = all.size() - 1;
  auto where = place{};
  for (size_t quoted = 0; i > 0; ++quoted) {
    if (read_place(all[--i], where) && is_number(where.rest))
      return has_begun(all, i)
               ? std::string{}
               : std::string{error} + " (" + std::string{name_of(where.path)}
                   + ", line " + std::string{where.rest} + ")";
    if (quoted == quoted_max
        || (!all[i].empty() && !all[i].starts_with("    ")))
      break;
  }
  // Of this error alone, Python tells the place in other words.
  return error.starts_with("SyntaxError: Non-UTF-8 code ")
             && !has_begun(all, all.size() - 1)
           ? std::string{error}
           : std::string{};
}

/// What Python says of a program that it does not find, behind its own path.
std::string search_error(std::string_view line, int code) {
  constexpr auto of_usage
    = std::array<std::string_view, 1>{"can't open file '"};
  constexpr auto of_error = std::array<std::string_view, 3>{
    "can't find '__main__' module in ", "No module named ",
    "Error while finding module specification for "};
  const auto end = line.find(": ");
  if (end == line.npos || name_of(line.substr(0, end)).find("py") == line.npos)
    return {};
  const auto is_it
    = [said = line.substr(end + 2)](auto x) { return said.starts_with(x); };
  const auto is_known
    = (code == code_of_usage && std::ranges::any_of(of_usage, is_it))
      || (code == code_of_error && std::ranges::any_of(of_error, is_it));
  return is_known ? std::string{line} : std::string{};
}

} // namespace

std::string why_not_begun(const worker_failure& x) {
  const auto& more = x.details;
  if (x.kind != failure_kind::exited || !more.is_from_stderr
      || !more.message.empty())
    return {};
  // Newer ones write in colours if they are told to.
  const auto text = printable(more.traceback);
  const auto all = written_lines(text);
  if (all.empty())
    return {};
  auto why = std::string{};
  if (x.code == code_of_error && is_compile_error(all.back()))
    why = compile_error(all);
  else if (all.size() > 1) // Who has said something else has begun.
    why = {};
  else if (x.code == code_of_linker
           && all.back().find(": error while loading shared libraries: ")
                != std::string_view::npos)
    why = all.back();
  else
    why = search_error(all.back(), x.code);
  return one_line(why, line_message_max);
}

} // namespace actorrun::core
