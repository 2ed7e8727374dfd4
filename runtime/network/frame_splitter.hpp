// Cuts a stream of bytes into frames that announce their size.
#pragma once

#include "messages/result.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// The parts of a frame, in bytes. The size of its content stands in the header,
/// in four bytes in network order.
struct frame_layout {
  uint32_t header_size = 0;
  uint32_t size_offset = 0;
  uint32_t content_min = 0;
  uint32_t content_max = 0;
};

class frame_splitter {
public:
  explicit frame_splitter(const frame_layout& layout) : layout_(layout) {}

  void add(std::string_view bytes) { bytes_ += bytes; }

  /// The next whole frame as it came, with its header; valid until the next call
  /// of `add` or `next`. None: the rest has not arrived.
  /// @returns a failure if a frame announces less or more than the layout allows
  result<std::optional<std::string_view>> next();

private:
  frame_layout layout_;
  std::string bytes_;
  size_t taken_ = 0; ///< Of `bytes_`, by earlier calls.
};

/// The number that stands there in network order. @pre `bytes` has it
uint64_t number_at(std::string_view bytes, size_t offset, size_t size);

} // namespace actorrun::detail
