#include "actors/core/reports/hang_summary.hpp"

#include "actors/core/failure.hpp"
#include "actors/core/text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace actorrun::core {

namespace {

/// Shown if the kernel does not say where a thread is.
constexpr auto unknown_place = std::string_view{"in an unknown place"};

std::string_view trimmed(std::string_view x) {
  constexpr auto blanks = " \t\r\n";
  const auto begin = x.find_first_not_of(blanks);
  if (begin == x.npos)
    return {};
  return x.substr(begin, x.find_last_not_of(blanks) + 1 - begin);
}

/// A frame of py-spy is indented, `name (file:line)`.
bool is_frame(std::string_view line) {
  return line.starts_with("    ") && trimmed(line).ends_with(')');
}

std::string where_in(const worker_snapshot& x) {
  return x.place + (x.frame.empty() ? "" : " at " + x.frame);
}

std::string place_in(const worker_snapshot& x) {
  return x.place;
}

/// Workers that are in the same place.
struct group {
  std::string place;
  std::vector<uint32_t> ranks;
};

/// In order of their first worker.
/// @param text What is to be equal within a group.
std::vector<group> grouped(const std::vector<worker_snapshot>& workers,
                           std::string (*text)(const worker_snapshot&)) {
  auto out = std::vector<group>{};
  for (const auto& x : workers) {
    const auto place = text(x);
    const auto i = std::ranges::find(out, place, &group::place);
    if (i != out.end())
      i->ranks.push_back(x.global_rank);
    else
      out.push_back({place, {x.global_rank}});
  }
  return out;
}

std::optional<uint32_t> odd_of(const std::vector<group>& groups) {
  constexpr auto majority_min = size_t{2};
  if (groups.size() != 2)
    return std::nullopt;
  for (size_t i = 0; i < groups.size(); ++i)
    if (groups[i].ranks.size() == 1
        && groups[1 - i].ranks.size() >= majority_min)
      return groups[i].ranks.front();
  return std::nullopt;
}

} // namespace

// `running`, or `-1 0x… 0x…` in none, or `202 0x… …`.
std::optional<int64_t> parse_syscall(std::string_view text) {
  auto number = int64_t{-1};
  const auto x = trimmed(text);
  const auto [end, error]
    = std::from_chars(x.data(), x.data() + x.size(), number);
  const auto whole = end == x.data() + x.size() || *end == ' ';
  if (error != std::errc{} || !whole || number < 0)
    return std::nullopt;
  return number;
}

std::string place_of(const thread_snapshot& x) {
  const auto wchan = one_line(x.wchan, place_name_max);
  // A kernel that hides the function writes a zero.
  const auto known = wchan.empty() || wchan == "0"
                       ? one_line(x.syscall, place_name_max)
                       : wchan;
  const auto in = known.empty() ? std::string{unknown_place} : "in " + known;
  switch (x.stat.state) {
    case 'R':
      return "running";
    case 'S':
    case 'I':
      return in;
    case 'D':
      return "uninterruptible " + in;
    case 'T':
      return "stopped (SIGSTOP)";
    case 't':
      return "stopped by a tracer";
    case 'Z':
    case 'X':
    case 'x':
      return "ended";
    default:
      return std::string{unknown_place};
  }
}

std::string innermost_frame(std::string_view dump) {
  auto first = std::string{};
  auto in_main = false;
  auto is_new = false; // The thread has shown no frame yet.
  while (!dump.empty()) {
    const auto line = take_until(dump, '\n');
    if (line.starts_with("Thread ")) {
      is_new = true;
      in_main = line.find("\"MainThread\"") != line.npos;
    } else if (is_new && is_frame(line)) {
      is_new = false;
      auto frame = one_line(trimmed(line), place_name_max);
      if (in_main)
        return frame;
      if (first.empty())
        first = std::move(frame);
    }
  }
  return first;
}

std::optional<uint32_t>
odd_one_out(const std::vector<worker_snapshot>& workers) {
  if (const auto odd = odd_of(grouped(workers, &where_in)))
    return odd;
  return odd_of(grouped(workers, &place_in));
}

std::string stuck_summary(const std::vector<worker_snapshot>& workers,
                          uint32_t overdue) {
  auto out = std::string{};
  if (const auto odd = odd_one_out(workers))
    out = "rank " + std::to_string(*odd) + " is the odd one out";
  auto groups = grouped(workers, &where_in);
  const auto own = [overdue](const group& x) {
    return std::ranges::find(x.ranks, overdue) != x.ranks.end();
  };
  std::stable_partition(groups.begin(), groups.end(), own);
  for (const auto& x : groups)
    out += (out.empty() ? "" : "\n")
           + std::string{x.ranks.size() == 1 ? "rank " : "ranks "}
           + to_ranges(x.ranks) + " " + x.place;
  return out;
}

} // namespace actorrun::core
