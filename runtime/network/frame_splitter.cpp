#include "runtime/network/frame_splitter.hpp"

#include "messages/formatted.hpp"

#include <cstdint>

namespace actorrun::detail {

namespace {

size_t number_in(std::string_view header) {
  auto out = size_t{0};
  for (const auto x : header)
    out = out << 8U | static_cast<uint8_t>(x);
  return out;
}

} // namespace

result<std::optional<std::string_view>> frame_splitter::next() {
  const auto rest = std::string_view{bytes_}.substr(taken_);
  auto size = frame_header_size;
  if (rest.size() >= size) {
    const auto content = number_in(rest.substr(0, frame_header_size));
    if (content == 0 || content > content_max_)
      return failure{errc::not_actorrun,
                     formatted("announces a message of {} bytes", content)};
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
  return std::optional{
    rest.substr(frame_header_size, size - frame_header_size)};
}

} // namespace actorrun::detail
