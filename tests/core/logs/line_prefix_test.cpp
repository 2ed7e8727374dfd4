#include "actors/core/logs/line_prefix.hpp"
#include "tests/support/catch.hpp"

#include <array>

namespace actorrun::test::line_prefix_test {

using namespace actorrun::core;

namespace {

constexpr auto values = std::array<template_value, 2>{{
  {"rank", "7"},
  {"rank_of", "x"},
}};

std::string expand(std::string_view text) {
  return expand_template(text, values);
}

constexpr auto origin = line_origin{
  .role = "trainer", .host = "node-a", .local_rank = 3, .global_rank = 11};

} // namespace

TEST_CASE("line_prefix: names are replaced as by Python's safe_substitute",
          "[core]") {
  struct row {
    std::string_view text;
    std::string_view expanded;
  };
  const row rows[] = {
    {"", ""},
    {"plain", "plain"},
    {"${rank}", "7"},
    {"$rank", "7"},
    {"<$rank>${rank}", "<7>7"},
    {"$rank-", "7-"},
    {"$rank_of", "x"},    // The longest name counts …
    {"$ranks", "$ranks"}, // … whether it has a value or not.
    {"${rank}s", "7s"},
    {"$Rank", "$Rank"},
    {"${other}", "${other}"},
    {"$$", "$"},
    {"$$rank", "$rank"},
    {"$$$rank", "$7"},
    {"$", "$"},
    {"a$", "a$"},
    {"$ rank", "$ rank"},
    {"$1", "$1"},
    {"${", "${"},
    {"${}", "${}"},
    {"${rank", "${rank"},
    {"${rank }", "${rank }"},
    {"${ $rank", "${ 7"},
    {"${$rank}", "${7}"},
    {"$\xc3\xa9", "$\xc3\xa9"}, // Names are ASCII.
    {"$rank\xc3\xa9", "7\xc3\xa9"},
  };
  for (const auto& x : rows) {
    CAPTURE(x.text);
    CHECK(expand(x.text) == x.expanded);
  }
}

TEST_CASE("line_prefix: the default has role and local rank and no space",
          "[core]") {
  CHECK(line_prefix("", origin) == "[trainer3]:");
}

TEST_CASE("line_prefix: a template knows four names", "[core]") {
  CHECK(line_prefix("${hostname}/${role_name}/${rank}/${local_rank}> ", origin)
        == "node-a/trainer/11/3> ");
}

TEST_CASE("line_prefix: T3 a worker may have no rank yet", "[core]") {
  auto ahead = origin;
  ahead.global_rank.reset();
  CHECK(line_prefix("$rank/$local_rank:", ahead) == "-/3:");
}

TEST_CASE("line_prefix: inserted values are not expanded again", "[core]") {
  auto odd = origin;
  odd.role = "$rank";
  CHECK(line_prefix("$role_name", odd) == "$rank");
}

} // namespace actorrun::test::line_prefix_test
