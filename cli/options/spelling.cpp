#include "cli/options/spelling.hpp"

#include "messages/formatted.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace actorrun::cli {

namespace {

/// Insertions, deletions and changes of one character from `a` to `b`.
size_t distance(std::string_view a, std::string_view b) {
  auto row = std::vector<size_t>(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    auto diagonal = std::exchange(row[0], i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const auto change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({change, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

/// How many of the last letters of `typed` are too many to begin `whole`.
size_t surplus(std::string_view typed, std::string_view whole) {
  const auto [end, rest]
    = std::mismatch(typed.begin(), typed.end(), whole.begin(), whole.end());
  return static_cast<size_t>(typed.end() - end);
}

/// Of letters: what is shorter begins too much.
constexpr size_t shortest_beginning = 2;
constexpr size_t surplus_max = 2;

bool begins(std::string_view typed, std::string_view whole) {
  const auto dashes = std::min(typed.find_first_not_of('-'), typed.size());
  const auto wrong = surplus(typed, whole);
  // A letter that is wrong needs twice as many that are right.
  const auto right_min = dashes + shortest_beginning * (wrong == 0 ? 1 : 2);
  return wrong <= surplus_max && typed.size() >= right_min + wrong;
}

} // namespace

std::string nearest(std::string_view typed,
                    const std::vector<std::string>& known) {
  const auto allowed = std::max<size_t>(2, typed.size() / 4);
  std::string best;
  auto best_cost = allowed + 1;
  for (const auto& x : known) {
    const auto cost = begins(typed, x) ? surplus(typed, x) : distance(typed, x);
    if (cost < best_cost) {
      best = x;
      best_cost = cost;
    }
  }
  return best;
}

std::string guess(std::string_view typed,
                  const std::vector<std::string>& known) {
  const auto best = nearest(typed, known);
  return best.empty() ? "" : formatted("; is {} meant?", best);
}

} // namespace actorrun::cli
