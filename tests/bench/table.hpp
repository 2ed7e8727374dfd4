// Figures, and the one table they are shown in: Markdown, to be pasted.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace actorrun::bench {

/// Repeated measurements of one thing.
class figures {
public:
  void add(double x) { values_.push_back(x); }
  bool empty() const { return values_.empty(); }

  /// @pre not empty
  double median() const;
  double min() const;
  double max() const;

  /// The value that a share of all, 0..1, does not exceed: 0.99 of a hundred is
  /// the last but one. @pre not empty
  double quantile(double share) const;

  /// `13.2 (10.3–13.9)`, or `13.2` if there is one.
  std::string text(const std::string& unit) const;

private:
  std::vector<double> values_;
};

/// One line of the table.
struct row {
  std::string what;
  std::string unit{};
  figures ours{};
  figures peer{};     ///< Empty if there is none.
  figures limit{};    ///< Empty if there is none.
  std::string goal{}; ///< In words; empty if there is none.
  std::optional<bool> met{};
};

/// Prints the heading.
void print_heading();

/// Prints a line at once: who waits for the benchmark wants to see it go on.
void print(const row& x);

/// Prints why there is no line, or what others are about, in its place.
void print_note(const std::string& what, const std::string& why);

/// Of medians. @pre neither is empty
double ratio(const figures& a, const figures& b);

} // namespace actorrun::bench
