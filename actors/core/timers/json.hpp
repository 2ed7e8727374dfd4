// Reads one line of JSON, strictly, without building anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::core {

/// A place in a JSON text that moves over what is read. Takes what Python's
/// `json` writes and reads: RFC 8259, and `NaN`, `Infinity`, `-Infinity`.
///
/// A function that reads moves on over white space and what it has read, and
/// returns true; else the cursor stays where the text is wrong, and `wrong()`
/// says how.
class json_cursor {
public:
  enum class error : uint8_t {
    none,
    not_text, ///< A control character, or not UTF-8.
    not_json,
    too_deep, ///< More than `depth_max` objects and arrays in each other.
  };

  static constexpr uint32_t depth_max = 64;

  explicit json_cursor(std::string_view text) : text_(text) {}

  /// Reads one character of JSON's punctuation.
  bool take(char c) {
    if (!sees(c))
      return fail();
    ++at_;
    return true;
  }

  /// Whether this character comes next; reads white space only.
  bool sees(char c) {
    skip_space();
    return at_ < text_.size() && text_[at_] == c;
  }

  /// Reads a string.
  /// @param out Gets the text as UTF-8; half of a surrogate pair becomes U+FFFD,
  ///            which Python writes where a file name is not text. None: the
  ///            string is only checked.
  bool read_string(std::string* out);

  /// Reads a number, `NaN`, `Infinity` or `-Infinity`.
  /// @returns its text; none if it is not one
  std::optional<std::string_view> read_number();

  /// Reads a word, as `true`, that comes next without white space: after `sees`.
  bool take_word(std::string_view word);

  /// Reads a value of any kind.
  bool skip_value();

  /// Whether only white space is left.
  bool at_end();

  /// In bytes from the beginning.
  size_t offset() const { return at_; }

  error wrong() const { return wrong_; }

private:
  // Here, as these are half of what reading a line costs.
  void skip_space() {
    while (at_ < text_.size() && is_space(text_[at_]))
      ++at_;
  }

  static bool is_space(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
  }

  bool fail(error what = error::not_json);
  bool skip_digits();
  bool read_plain(std::string* out);
  bool read_escape(std::string* out);
  bool read_unicode(std::string* out);
  std::optional<uint32_t> read_hex();
  bool skip_scalar();
  bool skip_key();

  std::string_view text_;
  size_t at_ = 0;
  error wrong_ = error::none;
};

} // namespace actorrun::core
