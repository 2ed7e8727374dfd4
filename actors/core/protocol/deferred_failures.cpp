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
