// Writes metrics in Prometheus' text format, version 0.0.4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace actorrun::detail {

inline constexpr auto exposition_type
  = "text/plain; version=0.0.4; charset=utf-8";

/// In bytes.
inline constexpr size_t metric_label_size_max = 200;

/// All samples of one name.
struct metric_family {
  const char* name;
  const char* type;   ///< `gauge`, `counter` or `histogram`.
  const char* labels; ///< Beside those of all metrics; separated by commas.
  const char* help;   ///< One sentence, without a full stop.
};

using metric_labels = std::vector<std::pair<std::string_view, std::string>>;

class exposition {
public:
  /// @param common The first labels of each sample.
  explicit exposition(metric_labels common) : common_(std::move(common)) {}

  /// The next samples belong to this family. It appears with its first sample.
  /// @pre it has not been begun before
  void begin(const metric_family& x);

  void add(uint64_t value, const metric_labels& labels = {});
  void add(double value, const metric_labels& labels = {});

  /// For a histogram.
  /// @param suffix `_bucket`, `_sum` or `_count`.
  void add_part(std::string_view suffix, double value,
                const metric_labels& labels = {});

  std::string take() { return std::move(text_); }

private:
  void sample(std::string_view suffix, const metric_labels& labels,
              const std::string& value);

  metric_labels common_;
  const metric_family* family_ = nullptr;
  bool is_announced_ = false;
  std::string text_;
};

} // namespace actorrun::detail
