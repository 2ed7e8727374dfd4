#include "runtime/network/frame_splitter.hpp"

namespace actorrun::detail {

namespace {

constexpr size_t size_field_size = 4;

} // namespace

uint64_t number_at(std::string_view bytes, size_t offset, size_t size) {
  auto out = uint64_t{0};
  for (const auto x : bytes.substr(offset, size))
    out = out << 8U | static_cast<uint8_t>(x);
  return out;
}

result<std::optional<std::string_view>> frame_splitter::next() {
  const auto rest = std::string_view{bytes_}.substr(taken_);
  auto size = size_t{layout_.header_size};
  if (rest.size() >= size) {
    const auto content = number_at(rest, layout_.size_offset, size_field_size);
    if (content < layout_.content_min || content > layout_.content_max)
      return failure{errc::not_actorrun, "announces a message of "
                                           + std::to_string(content)
                                           + " bytes"};
    size += content;
  }
  if (rest.size() < size) {
    if (rest.empty())
      std::string{}.swap(bytes_); // Most links are at rest most of the time.
    else
      bytes_.erase(0, taken_);
    taken_ = 0;
    return std::optional<std::string_view>{};
  }
  taken_ += size;
  return std::optional{rest.substr(0, size)};
}

} // namespace actorrun::detail
