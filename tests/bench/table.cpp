#include "tests/bench/table.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstdio>

namespace actorrun::bench {

namespace {

/// One text per column, in this order.
using cells = std::array<std::string, 8>;

/// Widths of the columns, in characters.
constexpr auto widths = std::array<size_t, 8>{48, 23, 23, 23, 7, 8, 21, 3};

constexpr auto none = "–";

// printf pads bytes, and a dash has three of them.
std::string padded(std::string text, size_t width) {
  const auto is_tail = [](char c) { return (c & 0xC0) == 0x80; };
  const auto tails = std::count_if(text.begin(), text.end(), is_tail);
  const auto length = text.size() - size_t(tails);
  if (length < width)
    text.append(width - length, ' ');
  return text;
}

std::string number(double x) {
  char text[32];
  const auto digits = x >= 100 ? 0 : x >= 10 ? 1 : 2;
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}

// Markdown that is readable as it is.
void print_line(const cells& texts) {
  auto line = std::string{"|"};
  for (size_t i = 0; i < texts.size(); ++i)
    line += ' ' + padded(texts[i], widths[i]) + " |";
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

std::vector<row>& rows() {
  static auto all = std::vector<row>{};
  return all;
}

nlohmann::json to_json(const figures& x) {
  return {{"median", x.median()}, {"min", x.min()}, {"max", x.max()}};
}

std::string ratio_text(const figures& a, const figures& b) {
  if (a.empty() || b.empty() || b.median() == 0)
    return none;
  return number(ratio(a, b));
}

} // namespace

void figures::add(double x) {
  values_.push_back(x);
}

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
    return none;
  auto text = number(median());
  if (values_.size() > 1)
    text += " (" + number(min()) + "–" + number(max()) + ")";
  return unit.empty() ? text : text + " " + unit;
}

void print_heading() {
  print_line(
    {"what", "ours", "peer", "limit", "to peer", "to limit", "goal", "ok?"});
  auto rules = cells{};
  for (size_t i = 0; i < rules.size(); ++i)
    rules[i] = std::string(widths[i], '-');
  print_line(rules);
}

void print(const row& x) {
  rows().push_back(x);
  print_line({x.what, x.ours.text(x.unit), x.peer.text(x.unit),
              x.limit.text(x.unit), ratio_text(x.ours, x.peer),
              ratio_text(x.ours, x.limit), x.goal.empty() ? none : x.goal,
              !x.met   ? none
              : *x.met ? "yes"
                       : "NO"});
}

std::string printed_rows() {
  auto out = nlohmann::json::array();
  for (const auto& x : rows()) {
    auto& to
      = out.emplace_back(nlohmann::json{{"what", x.what}, {"unit", x.unit}});
    const auto add = [&](const char* side, const figures& from) {
      if (!from.empty())
        to[side] = to_json(from);
    };
    add("ours", x.ours);
    add("peer", x.peer);
    add("limit", x.limit);
  }
  return out.dump(1);
}

void print_note(const std::string& what, const std::string& why) {
  print_line({what + ": " + why, none, none, none, none, none, none, none});
}

double ratio(const figures& a, const figures& b) {
  return a.median() / b.median();
}

} // namespace actorrun::bench
