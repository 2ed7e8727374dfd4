#include "runtime/diagnosis/error_document.hpp"

#include "runtime/os/file.hpp"

#include <cctype>

namespace actorrun::detail {

namespace {

constexpr auto escape_length = size_t{6}; // \ud83d

/// The UTF-16 unit of an escape at the beginning of `text`; nothing if there is
/// none.
std::optional<unsigned> escaped_unit(std::string_view text) {
  if (text.size() < escape_length || !text.starts_with("\\u"))
    return {};
  auto value = 0u;
  for (const auto c : text.substr(2, 4)) {
    if (std::isxdigit(static_cast<unsigned char>(c)) == 0)
      return {};
    const auto lower = std::tolower(static_cast<unsigned char>(c));
    value
      = value * 16
        + static_cast<unsigned>(lower >= 'a' ? lower - 'a' + 10 : lower - '0');
  }
  return value;
}

bool is_first_half(unsigned unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}

bool is_second_half(unsigned unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

// Python keeps bytes that are not UTF-8, of a file's name for example, as halves
// of surrogate pairs, and writes them so. JSON knows pairs only.
std::string without_lone_halves(std::string_view text) {
  auto out = std::string{text};
  for (size_t i = 0; i + 1 < out.size(); ++i) {
    if (out[i] != '\\')
      continue;
    const auto rest = std::string_view{out}.substr(i);
    const auto unit = escaped_unit(rest);
    if (!unit) {
      ++i; // What is escaped may be a backslash.
      continue;
    }
    const auto next = escaped_unit(rest.substr(escape_length));
    if (is_first_half(*unit) && next && is_second_half(*next))
      i += 2 * escape_length - 1;
    else {
      if (is_first_half(*unit) || is_second_half(*unit))
        out.replace(i, escape_length, "\\ufffd");
      i += escape_length - 1;
    }
  }
  return out;
}

/// Keeps what a parser builds small.
class size_guard {
public:
  bool operator()(int depth, error_document::parse_event_t, error_document&) {
    ++*count_;
    *exceeded_
      = *exceeded_ || depth > error_document_depth_max || *count_ > events_max;
    return !*exceeded_;
  }

  explicit size_guard(size_t& count, bool& exceeded)
    : count_(&count), exceeded_(&exceeded) {}

private:
  // A member is a key and a value, an object begins and ends.
  static constexpr auto events_max = 4 * error_document_values_max;

  size_t* count_;
  bool* exceeded_;
};

} // namespace

result<error_document> parse_error_document(std::string_view text) {
  if (text.find_first_not_of(" \t\r\n") == text.npos)
    return system_failure("is empty");
  auto count = size_t{0};
  auto exceeded = false;
  auto sound = without_lone_halves(text);
  try {
    auto x = error_document::parse(sound, size_guard{count, exceeded});
    if (exceeded)
      return system_failure("has too many parts to be one");
    const auto message = x.is_object() ? x.find("message") : x.end();
    if (message == x.end() || !(message->is_string() || message->is_object()))
      return system_failure("has no message in it");
    return x;
  } catch (const error_document::parse_error& e) {
    return system_failure(e.byte > sound.size() ? "ends too early"
                                                : "is not JSON");
  } catch (
    const error_document::exception&) { // Python writes 10**400 like that.
    return system_failure("has a number in it that is too large");
  }
}

result<std::optional<error_document>>
load_error_document(const std::string& path) {
  const auto file = open_regular_file(path);
  if (!file)
    return system_failure("cannot be used: " + file.error().text);
  if (!*file)
    return std::optional<error_document>{};
  if ((*file)->size > error_file_size_max)
    return system_failure("is larger than 1 MiB");
  auto x = parse_error_document(read_part(**file, 0, error_file_size_max));
  if (!x)
    return x.error();
  return std::optional{std::move(*x)};
}

// As deep as a document may be.
std::string to_text(const error_document& x) {
  if (!x.is_structured())
    return x.dump(-1, ' ', true, error_document::error_handler_t::replace);
  auto out = std::string{x.is_object() ? "{" : "["};
  auto separator = "";
  for (const auto& [key, value] : x.items()) {
    out += separator;
    if (x.is_object())
      out += to_text(error_document(key)) + ": ";
    out += to_text(value);
    separator = ", ";
  }
  return out + (x.is_object() ? "}" : "]");
}

} // namespace actorrun::detail
