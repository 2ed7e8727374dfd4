#include "actors/core/process_stat.hpp"
#include "tests/support/catch.hpp"

using namespace actorrun::core;

TEST_CASE("process_stat: name, state and session are read", "[core]") {
  CHECK(parse_stat("12 (sleep) S 1 2 3\n") == process_stat{"sleep", 'S', 3});
  CHECK(parse_stat("12 (a) b) (c) D 1") == process_stat{"a) b) (c", 'D'});
  CHECK(parse_stat("12 () R") == process_stat{"", 'R'});
}

TEST_CASE("process_stat: the time of birth is read", "[core]") {
  const auto x = parse_stat("12 (a 1) S 1 12 12 34816 31 4194304 97 0 0 0 0 0 0"
                            " 0 20 0 1 0 54321 5578752 224 18446744073709551615"
                            "\n");
  REQUIRE(x);
  CHECK(x->session == 12);
  CHECK(x->birth == 54321u);
}

TEST_CASE("process_stat: other lines are refused", "[core]") {
  for (const auto* text : {"", "12", "12 (sleep", "12 sleep) S", "12 (sleep)",
                           "12 (sleep) ", "12 (sleep)S", ") ("})
    CHECK_FALSE(parse_stat(text));
}
