#include "actors/core/store/value.hpp"

#include "actors/core/store/cost.hpp"

namespace actorrun::core {

namespace {

/// A value that grows gets room for an eighth more: so its bytes are not copied
/// each time, and little of the room is waste.
constexpr size_t growth_divisor = 8;

/// What a shared pointer keeps beside its object: two counters, and a pointer to
/// the functions that end it.
constexpr size_t shared_size = 2 * sizeof(void*);

} // namespace

// `std::string::reserve` would double the room of a text that has a block.
bool make_room(std::string& text, size_t size, store_charge& charge) {
  if (size <= text.capacity())
    return true;
  if (!charge.grow(text_cost(text_capacity(size)) - text_cost(text)))
    return false;
  if (text_cost(text) == 0) {
    text.reserve(size);
    return true;
  }
  auto larger = std::string{};
  larger.reserve(size);
  larger.append(text);
  text = std::move(larger);
  return true;
}

size_t store_value::cost_of(const std::string& bytes) {
  return block_cost(shared_size + sizeof(content)) + text_cost(bytes);
}

std::optional<store_value>
store_value::make(const std::shared_ptr<store_budget>& budget,
                  std::string bytes) {
  auto charge = store_charge{budget};
  if (!charge.grow(cost_of(bytes)))
    return std::nullopt;
  return store_value{
    std::make_shared<content>(content{std::move(bytes), std::move(charge)})};
}

bool store_value::append(const std::shared_ptr<store_budget>& budget,
                         std::string_view tail) {
  const auto size = content_->bytes.size() + tail.size();
  if (content_.use_count() == 1) {
    auto& bytes = content_->bytes;
    const auto room = bytes.capacity() + bytes.capacity() / growth_divisor;
    if (size > bytes.capacity()
        && !make_room(bytes, std::max(size, room), content_->charge))
      return false;
    bytes.append(tail);
    return true;
  }
  auto both = std::string{};
  both.reserve(size);
  both.append(content_->bytes).append(tail);
  auto grown = make(budget, std::move(both));
  if (grown)
    content_ = std::move(grown->content_);
  return grown.has_value();
}

} // namespace actorrun::core
