// Cuts a stream of bytes into frames: four bytes of size, in network order, and a
// content.
#pragma once

#include "messages/result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::detail {

/// Of the size of a content, in bytes.
inline constexpr size_t frame_header_size = 4;

class frame_splitter {
public:
  /// @param content_max What the other side may send at once, in bytes. A content has
  ///                    1 at least: an empty message asks and says nothing.
  explicit frame_splitter(size_t content_max) : content_max_(content_max) {}

  void add(std::string_view bytes) { bytes_ += bytes; }

  /// The content of the next whole frame; valid until the next call of `add` or
  /// `next`. None: the rest has not arrived.
  /// @returns a failure if a frame announces less or more than it may have, as a verb
  ///          and its object
  result<std::optional<std::string_view>> next();

private:
  size_t content_max_;
  std::string bytes_;
  size_t taken_ = 0; ///< Of `bytes_`, by earlier calls.
};

} // namespace actorrun::detail
