#include "runtime/http/exposition.hpp"

#include "actors/core/failure.hpp"
#include "messages/formatted.hpp"

#include <cassert>
#include <cmath>
#include <initializer_list>

namespace actorrun::detail {

namespace {

/// A label's value as it stands between quotation marks.
std::string escaped(const std::string& value) {
  auto out = std::string{};
  for (const auto c : core::one_line(value, metric_label_size_max)) {
    if (c == '\\' || c == '"')
      out += '\\';
    out += c;
  }
  return out;
}

std::string number(double x) {
  if (std::isnan(x))
    return "NaN";
  if (std::isinf(x))
    return x > 0 ? "+Inf" : "-Inf";
  return formatted("{}", x);
}

} // namespace

void exposition::begin(const metric_family& x) {
  family_ = &x;
  is_announced_ = false;
}

void exposition::add(uint64_t value, const metric_labels& labels) {
  sample("", labels, std::to_string(value));
}

void exposition::add(double value, const metric_labels& labels) {
  sample("", labels, number(value));
}

void exposition::add_part(std::string_view suffix, double value,
                          const metric_labels& labels) {
  sample(suffix, labels, number(value));
}

void exposition::sample(std::string_view suffix, const metric_labels& labels,
                        const std::string& value) {
  assert(family_ != nullptr);
  if (!std::exchange(is_announced_, true))
    text_ += formatted("# HELP {} {}\n# TYPE {} {}\n", family_->name,
                       family_->help, family_->name, family_->type);
  text_ += family_->name;
  text_ += suffix;
  auto separator = '{';
  for (const auto* list :
       std::initializer_list<const metric_labels*>{&common_, &labels})
    for (const auto& [name, x] : *list) {
      text_ += std::exchange(separator, ',');
      text_ += formatted("{}=\"{}\"", name, escaped(x));
    }
  if (separator != '{')
    text_ += '}';
  text_ += formatted(" {}\n", value);
}

} // namespace actorrun::detail
