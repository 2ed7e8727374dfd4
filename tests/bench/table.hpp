// Prints figures in one table: Markdown, to be pasted.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace actorrun::bench {

/// Repeated measurements of one thing.
class figures {
public:
  void add(double x);
  bool empty() const { return values_.empty(); }

  /// @pre not empty
  double median() const;
  double min() const;
  double max() const;

  /// The value that a share of all, 0..1, does not exceed: 0.99 of a hundred is
  /// the second largest. @pre not empty
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

/// Prints a line at once, so that progress is visible.
void print(const row& x);

/// All rows that were printed, as an array of JSON objects with what each is, its
/// unit, and median, least and greatest of each side that was measured.
std::string printed_rows();

/// Prints why a line is missing, or a remark on others, in its place.
void print_note(const std::string& what, const std::string& why);

/// The ratio of medians. @pre neither is empty
double ratio(const figures& a, const figures& b);

} // namespace actorrun::bench
