#include "cli/options/log_values.hpp"

#include "actors/core/generation.hpp"
#include "cli/options/values.hpp"
#include "messages/formatted.hpp"
#include "runtime/options.hpp"

#include <charconv>
#include <utility>

namespace actorrun::cli {

namespace {

using core::std_streams;
using core::stream_choice;

constexpr auto rank_max = core::slots_per_agent_max - 1;

std::optional<std_streams> parse_mask(std::string_view text) {
  text = trimmed(text);
  if (text.size() != 1 || text[0] < '0' || text[0] > '3')
    return std::nullopt;
  return static_cast<std_streams>(text[0] - '0');
}

failure no_stream_choice(std::string_view text) {
  return bad_argument(in_quotes(text)
                      + " is neither a mask (0 none, 1 stdout, 2 stderr,"
                        " 3 both) nor RANK:MASK,... such as 0:1,12:3");
}

result<void> add_rank(std::string_view item, std::string_view whole,
                      stream_choice& out) {
  const auto colon = item.find(':');
  const auto mask = parse_mask(item.substr(colon + 1));
  if (colon == item.npos || !mask)
    return no_stream_choice(whole);
  const auto rank = parse_count(item.substr(0, colon), 0, rank_max);
  if (!rank)
    return bad_argument(formatted("in {}, the local rank {}", in_quotes(whole),
                                  rank.error().text));
  if (!out.by_rank.emplace(*rank, *mask).second)
    return bad_argument(formatted("in {}, local rank {} is listed twice",
                                  in_quotes(whole), *rank));
  return {};
}

struct unit {
  char letter;
  uint32_t shift;
};

/// Takes the unit off `text`.
uint32_t cut_unit(std::string_view& text) {
  static constexpr unit units[] = {{'K', 10}, {'M', 20}, {'G', 30}};
  for (const auto& x : units) {
    if (text.empty() || (text.back() & ~0x20) != x.letter)
      continue;
    text.remove_suffix(1);
    return x.shift;
  }
  return 0;
}

/// `uint64_t` has room for every multiple of `shift` that is in range.
std::optional<uint64_t> parse_size(std::string_view text) {
  text = trimmed(text);
  const auto shift = cut_unit(text);
  auto x = uint64_t{0};
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, x);
  if (error != std::errc{} || stop != end)
    return std::nullopt;
  return x > (UINT64_MAX >> shift) ? UINT64_MAX : x << shift;
}

} // namespace

result<stream_choice> parse_stream_choice(std::string_view text) {
  auto out = stream_choice{};
  if (const auto mask = parse_mask(text)) {
    out.everywhere = *mask;
    return out;
  }
  for (const auto item : split(text, ','))
    if (auto ok = add_rank(item, text, out); !ok)
      return ok.error();
  return out;
}

result<std::optional<std::set<uint32_t>>>
parse_local_ranks(std::string_view text) {
  using ranks = std::optional<std::set<uint32_t>>;
  if (trimmed(text).empty())
    return ranks{};
  auto out = std::set<uint32_t>{};
  for (const auto item : split(text, ',')) {
    const auto rank = parse_count(item, 0, rank_max);
    if (!rank)
      return bad_argument(
        formatted("{} is no list of local ranks such as 0,1,12, each in 0..{}",
                  in_quotes(text), rank_max));
    out.insert(*rank);
  }
  return ranks{std::move(out)};
}

result<std::vector<std::string>> parse_filters(std::string_view text) {
  auto out = std::vector<std::string>{};
  if (text.empty())
    return out;
  out.emplace_back();
  for (size_t i = 0; i < text.size(); ++i) {
    const auto is_comma = text[i] == ',';
    const auto is_double = is_comma && text.substr(i).starts_with(",,");
    if (is_comma && !is_double) {
      out.emplace_back();
      continue;
    }
    out.back() += text[i];
    i += is_double ? 1 : 0;
  }
  for (const auto& x : out)
    if (x.empty())
      return bad_argument(formatted("in {}, a filter is empty and would pass "
                                    "every line; ,, is a comma within a filter",
                                    in_quotes(text)));
  return out;
}

result<uint64_t> parse_rotate_size(std::string_view text) {
  const auto x = parse_size(text);
  if (!x)
    return bad_argument(in_quotes(text)
                        + " is not a size; 65536, 64K, 100M and 2G are");
  if (*x != 0 && (*x < core::rotate_size_min || *x > rotate_size_max))
    return bad_argument(in_quotes(text)
                        + " is neither 0 nor between 64K and 16384G");
  return *x;
}

} // namespace actorrun::cli
