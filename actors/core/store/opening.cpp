#include "actors/core/store/opening.hpp"

#include "actors/core/store/request.hpp"

#include <array>

namespace actorrun::core {

namespace {

using verdict = store_opening::verdict;

constexpr auto hello_of_torch = std::string_view{"\0\xce\xf7\x85\x3c", 5};

enum class first_number : uint8_t { none, key_length, key_count };

/// What follows a request of 2.1 or before, by its number.
constexpr auto first_numbers = std::array{
  first_number::key_length, first_number::key_length, first_number::key_length,
  first_number::key_length, first_number::key_count,  first_number::key_count,
  first_number::none,       first_number::key_length, first_number::key_length,
  first_number::key_count,  first_number::key_count,  first_number::none,
};

// Least significant byte first: what is still to come makes it only larger.
uint64_t number_in(std::string_view bytes) {
  auto out = uint64_t{0};
  for (auto i = bytes.rbegin(); i != bytes.rend(); ++i)
    out = out << 8 | static_cast<uint8_t>(*i);
  return out;
}

} // namespace

store_opening store_opening_of(std::string_view begin) {
  begin = begin.substr(0, store_opening_max);
  if (begin.starts_with(hello_of_torch))
    return {verdict::client, 0};
  if (begin.empty())
    return {verdict::open, 1};
  const auto request = static_cast<uint8_t>(begin.front());
  const auto follows = request < first_numbers.size() ? first_numbers[request]
                                                      : first_number::none;
  if (follows == first_number::none)
    return {verdict::other, 0};
  if (hello_of_torch.starts_with(begin))
    return {verdict::open, hello_of_torch.size()};
  constexpr auto limits = store_limits{};
  const auto number = number_in(begin.substr(1));
  if (number > (follows == first_number::key_length
                  ? limits.key_size_max
                  : limits.keys_per_request_max))
    return {verdict::other, 0};
  if (begin.size() < store_opening_max)
    return {verdict::open, store_opening_max};
  return {number > 0 ? verdict::client : verdict::other, 0};
}

} // namespace actorrun::core
