// Reads from the environment which seeds a test runs.
#pragma once

#include "tests/support/catch.hpp"

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace actorrun::sim {

/// A number from 1 on. Fails the test case if the variable is anything else: a
/// spelling mistake would run no seed, and pass.
inline uint64_t number_from(const char* variable, uint64_t otherwise) {
  const auto* value = std::getenv(variable);
  if (value == nullptr)
    return otherwise;
  const auto text = std::string_view{value};
  auto number = uint64_t{0};
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  INFO(variable << "=" << text << " is not a number from 1 on");
  REQUIRE((error == std::errc{} && stop == end && number > 0));
  return number;
}

} // namespace actorrun::sim
