#include "actors/core/logs/line_prefix.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

namespace actorrun::core {

namespace {

bool begins_name(char c) {
  return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool continues_name(char c) {
  return begins_name(c) || (c >= '0' && c <= '9');
}

/// The name at the beginning of `text`; may be empty.
std::string_view name_at(std::string_view text) {
  if (text.empty() || !begins_name(text.front()))
    return {};
  const auto end = std::find_if_not(text.begin(), text.end(), continues_name);
  return text.substr(0, size_t(end - text.begin()));
}

/// A `$` and what belongs to it.
struct placeholder {
  std::string_view name; ///< Empty: none that counts.
  size_t length = 1;     ///< With `$` and braces.
};

/// @pre `text` begins with `$`
placeholder placeholder_at(std::string_view text) {
  const auto is_braced = text.substr(1).starts_with('{');
  const auto name = name_at(text.substr(is_braced ? 2 : 1));
  if (!is_braced)
    return {name, 1 + name.size()};
  if (name.empty() || !text.substr(2 + name.size()).starts_with('}'))
    return {};
  return {name, 3 + name.size()};
}

} // namespace

std::string expand_template(std::string_view text,
                            std::span<const template_value> values) {
  auto result = std::string{};
  while (!text.empty()) {
    const auto dollar = std::min(text.find('$'), text.size());
    result += text.substr(0, dollar);
    text.remove_prefix(dollar);
    if (text.empty())
      break;
    if (text.starts_with("$$")) {
      result += '$';
      text.remove_prefix(2);
      continue;
    }
    const auto found = placeholder_at(text);
    const auto value
      = std::find_if(values.begin(), values.end(), [&](const auto& x) {
          return !found.name.empty() && x.name == found.name;
        });
    result
      += value == values.end() ? text.substr(0, found.length) : value->value;
    text.remove_prefix(found.length);
  }
  return result;
}

std::string line_prefix(std::string_view text, const line_origin& origin) {
  const auto local_rank = std::to_string(origin.local_rank);
  const auto global_rank
    = origin.global_rank ? std::to_string(*origin.global_rank) : "-";
  const auto values = std::array<template_value, 4>{{
    {"role_name", origin.role},
    {"local_rank", local_rank},
    {"rank", global_rank},
    {"hostname", origin.host},
  }};
  return expand_template(text.empty() ? default_prefix_template : text, values);
}

} // namespace actorrun::core
