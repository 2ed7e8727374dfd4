#include "actors/core/logs/log_selection.hpp"

#include <algorithm>

namespace actorrun::core {

namespace {

/// The system unrolls repetitions: all of one expression, multiplied, make no more
/// copies of a part of it.
constexpr auto repetition_max = uint64_t{256};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

} // namespace

bool log_selection::has_rank(uint32_t rank) const {
  return ranks.empty() || std::ranges::find(ranks, rank) != ranks.end();
}

result<void> check_pattern(std::string_view text) {
  const auto refused = [](std::string why) {
    return failure{errc::bad_argument, "the expression " + std::move(why)};
  };
  if (text.size() > log_pattern_max)
    return refused("has more than " + std::to_string(log_pattern_max)
                   + " bytes");
  if (text.find('\0') != text.npos)
    return refused("has a zero byte");
  auto copies = uint64_t{1};
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') {
      if (++i < text.size() && is_digit(text[i]) && text[i] != '0')
        return refused("refers back (\\" + std::string{text[i]}
                       + "), which may take for ever");
    } else if (text[i] == '{') {
      auto most = uint64_t{1};
      for (auto number = uint64_t{0}; ++i < text.size() && text[i] != '}';) {
        number = is_digit(text[i]) ? std::min(
                   number * 10 + uint64_t(text[i] - '0'), repetition_max + 1)
                                   : 0;
        most = std::max(most, number);
      }
      copies *= most;
      if (copies > repetition_max)
        return refused("repeats more than " + std::to_string(repetition_max)
                       + " times ({…}, multiplied)");
    }
  }
  return {};
}

} // namespace actorrun::core
