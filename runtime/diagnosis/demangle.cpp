#include "runtime/diagnosis/demangle.hpp"

#include <cctype>
#include <cstddef>
#include <cstdlib>
#include <memory>

#include <cxxabi.h>

namespace actorrun::detail {

namespace {

constexpr auto prefix = std::string_view{"_Z"};
constexpr auto name_max = size_t{512};
/// In bytes: all names of a text together become at most this long.
constexpr auto expansion_max = size_t{256} * 1'024;

// Each reference to an earlier part may double what the name stands for, each
// expansion of a pack repeat it as often as the name is long; a few dozen would
// fill the memory. 95 % of real names have fewer.
constexpr auto doublings_max = 10;
constexpr auto doublings_per_pack = 7;

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'
         || c == '.' || c == '$';
}

/// `S_`, `S1A_`, `T_`, `T0_`
bool is_reference(std::string_view text) {
  if (text[0] != 'S' && text[0] != 'T')
    return false;
  auto i = size_t{1};
  while (i < text.size()
         && (std::isdigit(static_cast<unsigned char>(text[i])) != 0
             || std::isupper(static_cast<unsigned char>(text[i])) != 0))
    ++i;
  return i < text.size() && text[i] == '_';
}

bool is_harmless(std::string_view name) {
  auto doublings = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    const auto rest = name.substr(i);
    if (is_reference(rest))
      ++doublings;
    else if (rest.starts_with("Dp") || rest.starts_with("sp"))
      doublings += doublings_per_pack;
  }
  return doublings <= doublings_max;
}

std::string demangled_name(const std::string& name) {
  if (name.size() > name_max || !is_harmless(name))
    return name;
  auto status = 0;
  const auto text = std::unique_ptr<char, decltype(&std::free)>{
    abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free};
  return text ? text.get() : name;
}

} // namespace

std::string demangled(std::string_view text) {
  auto out = std::string{};
  for (size_t at = 0; at < text.size();) {
    const auto start = std::min(text.find(prefix, at), text.size());
    out += text.substr(at, start - at);
    auto end = start;
    while (end < text.size() && is_of_name(text[end]))
      ++end;
    const auto name = std::string{text.substr(start, end - start)};
    const auto begins_here = start == 0 || !is_of_name(text[start - 1]);
    out += begins_here && out.size() < expansion_max ? demangled_name(name)
                                                     : name;
    at = end;
  }
  return out;
}

} // namespace actorrun::detail
