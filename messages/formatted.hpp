// Builds log lines and texts for people from a pattern: `formatted`.
#pragma once

#include "messages/ids.hpp"

// Since its version 11 fmt has what is needed here in base.h; its core.h then
// is all of fmt, which takes seconds to compile.
#if __has_include(<fmt/base.h>)
#include <fmt/base.h>
#else
#include <fmt/core.h>
#endif

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace actorrun {

namespace detail {

/// Whether every fmt formats it: since its version 10 it converts no other values to
/// texts of its own accord, and earlier ones do.
template <class T>
constexpr bool is_plain
  = std::is_arithmetic_v<T> || std::is_pointer_v<std::decay_t<T>>;
template <>
inline constexpr bool is_plain<std::string> = true;
template <>
inline constexpr bool is_plain<std::string_view> = true;

/// What fmt gets to see of a value.
template <class T>
requires is_plain<T>
const T& formattable(const T& x) {
  return x;
}
inline const std::string& formattable(const shared_text& x) {
  return x.get();
}

template <class T>
using formattable_t = decltype(formattable(std::declval<const T&>()));

/// The only function of ours that calls fmt; formatted.cpp compiles fmt.
std::string vformatted(fmt::string_view pattern, fmt::format_args args);

} // namespace detail

/// Puts values into the places `{}` of a pattern.
///
/// Ids, enumerators and durations are passed as their `to_string`, `.value` or
/// `.count()`. The name is not `format`, which would be ambiguous with
/// `std::format` for arguments from `std`.
/// @param pattern In fmt's syntax; checked against the arguments when it is
///                compiled. A brace is written as two.
template <class... Args>
std::string
formatted(fmt::format_string<detail::formattable_t<Args>...> pattern,
          Args&&... args) {
  return detail::vformatted(
    pattern, fmt::make_format_args(detail::formattable(args)...));
}

} // namespace actorrun
