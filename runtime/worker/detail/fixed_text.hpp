// Writes text into a buffer of fixed size, as a signal handler may.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace actorrun::recording {

/// Appends to a buffer that is the caller's; what does not fit is left out. All
/// of it is async-signal-safe.
class fixed_text {
public:
  template <size_t N>
  explicit fixed_text(char (&buffer)[N]) : buffer_(buffer), capacity_(N) {}

  fixed_text& put(std::string_view text);
  fixed_text& put_number(uint64_t value);
  fixed_text& put_hex(uint64_t value); ///< With `0x` in front.

  /// The text as a string of JSON, without the quotes: ASCII, as Python's
  /// `json.dump` writes it. Bytes that are no UTF-8 become U+FFFD. At most six
  /// times as long.
  fixed_text& put_json(std::string_view text);

  size_t size() const { return size_; }
  std::string_view view() const { return {buffer_, size_}; }

  /// Forgets what has been put since the size was that.
  void cut(size_t size) { size_ = size; }

private:
  void put_unit(unsigned unit);

  char* buffer_;
  size_t capacity_;
  size_t size_ = 0;
};

inline constexpr size_t json_expansion_max = 6; ///< Of `put_json`.

/// The end of a text, at most `limit` bytes.
std::string_view end_of(std::string_view text, size_t limit);

} // namespace actorrun::recording
