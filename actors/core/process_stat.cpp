#include "actors/core/process_stat.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>

namespace actorrun::core {

namespace {

/// The fields behind the name, as proc(5) numbers them less 3.
enum field : size_t {
  state = 0,
  parent = 1,
  session = 3,
  flags = 6,
  user_ticks = 11,
  system_ticks = 12,
  children_user_ticks = 13,
  children_system_ticks = 14,
  thread_count = 17,
  birth = 19,
  resident = 21,
  exit_code = 49,
};

/// Those that are missing are empty.
using fields = std::array<std::string_view, field::exit_code + 1>;

fields split(std::string_view text) {
  auto out = fields{};
  for (auto& x : out) {
    const auto end = std::min(text.find_first_of(" \n"), text.size());
    x = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

template <class T>
std::optional<T> number_in(std::string_view text) {
  auto out = T{};
  const auto end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, out);
  return error == std::errc{} && rest == end ? std::optional{out}
                                             : std::nullopt;
}

/// Nothing if one is missing.
std::optional<uint64_t> cpu_ticks_of(const fields& all) {
  auto sum = uint64_t{0};
  for (auto i = size_t{user_ticks}; i <= children_system_ticks; ++i) {
    const auto ticks = number_in<int64_t>(all[i]);
    if (!ticks)
      return std::nullopt;
    // The kernel shows those of children as signed; a sum of them may wrap.
    sum += static_cast<uint64_t>(std::max<int64_t>(*ticks, 0));
  }
  return sum;
}

/// PF_EXITING and PF_SIGNALED: it has begun to end, it was killed by a signal.
constexpr auto ending_flags = uint64_t{0x4 | 0x400};

} // namespace

bool process_stat::is_ending() const {
  return state == 'Z' || state == 'X' || (flags & ending_flags) != 0
         || exit_code != 0;
}

std::optional<process_stat> parse_stat(std::string_view text) {
  const auto begin = text.find('(');
  const auto end = text.rfind(')');
  if (begin == text.npos || end == text.npos || end < begin
      || end + 2 >= text.size() || text[end + 1] != ' ')
    return std::nullopt;
  const auto all = split(text.substr(end + 2));
  return process_stat{
    .name = std::string{text.substr(begin + 1, end - begin - 1)},
    .state = text[end + 2],
    .session = number_in<int64_t>(all[session]).value_or(0),
    .birth = number_in<uint64_t>(all[birth]),
    .parent = number_in<int64_t>(all[parent]).value_or(0),
    .cpu_ticks = cpu_ticks_of(all),
    .thread_count = number_in<uint32_t>(all[thread_count]),
    .resident_pages = number_in<uint64_t>(all[resident]),
    .flags = number_in<uint64_t>(all[flags]).value_or(0),
    .exit_code = number_in<int64_t>(all[exit_code]).value_or(0)};
}

} // namespace actorrun::core
