#include "actors/core/process_stat.hpp"

#include <charconv>

namespace actorrun::core {

namespace {

// Counted from the first field behind the name, which is the state.
constexpr int session_field = 4;
constexpr int birth_field = 20;

template <class T>
std::optional<T> number_in(std::string_view fields, int field) {
  for (auto skip = field - 1; skip > 0; --skip) {
    const auto blank = fields.find(' ');
    if (blank == fields.npos)
      return std::nullopt;
    fields.remove_prefix(blank + 1);
  }
  auto out = T{};
  const auto [end, error]
    = std::from_chars(fields.data(), fields.data() + fields.size(), out);
  return error == std::errc{} ? std::optional{out} : std::nullopt;
}

} // namespace

std::optional<process_stat> parse_stat(std::string_view text) {
  const auto begin = text.find('(');
  const auto end = text.rfind(')');
  if (begin == text.npos || end == text.npos || end < begin
      || end + 2 >= text.size() || text[end + 1] != ' ')
    return std::nullopt;
  const auto fields = text.substr(end + 2);
  return process_stat{
    .name = std::string{text.substr(begin + 1, end - begin - 1)},
    .state = fields.front(),
    .session = number_in<int64_t>(fields, session_field).value_or(0),
    .birth = number_in<uint64_t>(fields, birth_field)};
}

} // namespace actorrun::core
