#include "actors/core/protocol/deferred_failures.hpp"

#include <utility>

namespace actorrun::core {

std::string to_string(attribution x) {
  switch (x) {
    case attribution::awaited:
      return "awaited";
    case attribution::node:
      return "node";
    case attribution::program:
      return "program";
  }
  return "unknown";
}

deferred_failure deferred_failure::at(time_point now) const {
  auto out = *this;
  const auto age = [by = now - since](worker_failure& x) { x.age += by; };
  age(out.first);
  if (out.how.first_failure)
    age(*out.how.first_failure);
  for (auto& x : out.how.other_failures)
    age(x);
  out.since = now;
  return out;
}

std::vector<deferred_failure> deferred_failures::take_if(
  const std::function<bool(const deferred_failure&)>& is_settled) {
  auto out = std::vector<deferred_failure>{};
  auto rest = std::vector<deferred_failure>{};
  for (auto& x : all_)
    (is_settled(x) ? out : rest).push_back(std::move(x));
  all_ = std::move(rest);
  return out;
}

} // namespace actorrun::core
