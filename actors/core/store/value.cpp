#include "actors/core/store/value.hpp"

namespace actorrun::core {

std::optional<store_value>
store_value::make(const std::shared_ptr<store_budget>& budget,
                  std::string bytes) {
  auto charge = store_charge{budget};
  if (!charge.grow(bytes.size() + store_overhead))
    return std::nullopt;
  return store_value{
    std::make_shared<content>(content{std::move(bytes), std::move(charge)})};
}

bool store_value::append(const std::shared_ptr<store_budget>& budget,
                         std::string_view tail) {
  if (content_.use_count() == 1) {
    if (!content_->charge.grow(tail.size()))
      return false;
    content_->bytes.append(tail);
    return true;
  }
  auto both = std::string{};
  both.reserve(content_->bytes.size() + tail.size());
  both.append(content_->bytes).append(tail);
  auto grown = make(budget, std::move(both));
  if (grown)
    content_ = std::move(grown->content_);
  return grown.has_value();
}

} // namespace actorrun::core
