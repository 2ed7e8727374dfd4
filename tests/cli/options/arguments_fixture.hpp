// Parses command lines and environments for the tests of `parse_run`.
#pragma once

#include "cli/actorrun_arguments.hpp"
#include "tests/support/catch.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace actorrun::cli {

using words = std::vector<std::string>;
using variables = std::map<std::string, std::string>;

inline failure no_devices() {
  return {errc::system_failure, "the test has no devices"};
}

inline host_facts world_with(const variables& environment) {
  return {
    [environment](const std::string& name) -> std::optional<std::string> {
      const auto i = environment.find(name);
      return i == environment.end() ? std::nullopt
                                    : std::optional<std::string>{i->second};
    },
    [] { return 12u; },
    [](const std::string& path) -> result<std::string> {
      if (path == "secret.txt")
        return std::string{"swordfish"};
      return failure{errc::bad_argument, "cannot read " + path};
    },
    [] { return std::string{"random-id"}; },
    [](int) { return false; },
    [] { return std::vector<core::gpu_identity>{}; },
    []() -> result<uint32_t> { return no_devices(); },
    []() -> result<uint32_t> { return no_devices(); },
    [environment] {
      auto out = std::vector<std::string>{};
      for (const auto& [name, value] : environment)
        out.push_back(name);
      return out;
    },
    // As if there were a home with a secret.
    [environment]() -> result<std::string> {
      return std::string{environment.contains("HOME") ? "of home" : ""};
    },
  };
}

inline result<run_command> parse(const words& line,
                                 const variables& environment = {}) {
  return parse_run(line, world_with(environment));
}

/// The parsed run; fails if the line is refused.
inline run_arguments accepted(const words& line,
                              const variables& environment = {}) {
  auto x = parse(line, environment);
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  REQUIRE(std::holds_alternative<run_arguments>(*x));
  return std::get<run_arguments>(*x);
}

/// The reason for the refusal; fails if the line is accepted.
inline std::string refused(const words& line,
                           const variables& environment = {}) {
  auto x = parse(line, environment);
  REQUIRE_FALSE(x);
  CHECK(x.error().code == errc::bad_argument);
  return x.error().text;
}

inline words with_script(words line) {
  line.push_back("train.py");
  return line;
}

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

inline words joined(words a, const words& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

} // namespace actorrun::cli
