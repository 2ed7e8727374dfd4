#include "table.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdio>

namespace actorrun::bench {

namespace {

/// Widths of the columns, in characters.
constexpr size_t what_width = 48;
constexpr size_t figure_width = 23;
constexpr size_t ratio_width = 8;
constexpr size_t goal_width = 27;

// As printf pads bytes, and our dashes have three.
std::string padded(std::string text, size_t width) {
  const auto is_tail = [](char c) { return (c & 0xC0) == 0x80; };
  const auto tails = std::count_if(text.begin(), text.end(), is_tail);
  const auto length = text.size() - size_t(tails);
  if (length < width)
    text.append(width - length, ' ');
  return text + ' ';
}

std::string number(double x) {
  char text[32];
  const auto digits = x >= 100 ? 0 : x >= 10 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}

void print_line(const std::string& what, const std::string& ours,
                const std::string& peer, const std::string& limit,
                const std::string& to_peer, const std::string& to_limit,
                const std::string& goal, const std::string& ok) {
  const auto line = padded(what, what_width) + padded(ours, figure_width)
                    + padded(peer, figure_width) + padded(limit, figure_width)
                    + padded(to_peer, ratio_width)
                    + padded(to_limit, ratio_width) + padded(goal, goal_width)
                    + ok;
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::string ratio_text(const figures& a, const figures& b) {
  if (a.empty() || b.empty() || b.median() == 0)
    return "–";
  return number(ratio(a, b));
}

} // namespace

double figures::median() const {
  assert(!values_.empty());
  auto sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const auto middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle]
                                : (sorted[middle - 1] + sorted[middle]) / 2;
}

double figures::min() const {
  assert(!values_.empty());
  return *std::min_element(values_.begin(), values_.end());
}

double figures::max() const {
  assert(!values_.empty());
  return *std::max_element(values_.begin(), values_.end());
}

double figures::quantile(double share) const {
  assert(!values_.empty() && share >= 0 && share <= 1);
  auto sorted = values_;
  std::sort(sorted.begin(), sorted.end());
  const auto count = std::ceil(share * double(sorted.size()));
  return sorted[size_t(std::max(count, 1.0)) - 1];
}

std::string figures::text(const std::string& unit) const {
  if (empty())
    return "–";
  auto text = number(median());
  if (values_.size() > 1)
    text += " (" + number(min()) + "–" + number(max()) + ")";
  return unit.empty() ? text : text + " " + unit;
}

void print_heading() {
  print_line("what", "ours", "peer", "limit", "to peer", "to limit", "goal",
             "ok?");
}

void print(const row& x) {
  print_line(x.what, x.ours.text(x.unit), x.peer.text(x.unit),
             x.limit.text(x.unit), ratio_text(x.ours, x.peer),
             ratio_text(x.ours, x.limit), x.goal.empty() ? "–" : x.goal,
             !x.met   ? "–"
             : *x.met ? "yes"
                      : "NO");
}

void print_note(const std::string& what, const std::string& why) {
  std::printf("%s: %s\n", what.c_str(), why.c_str());
  std::fflush(stdout);
}

double ratio(const figures& a, const figures& b) {
  return a.median() / b.median();
}

} // namespace actorrun::bench
