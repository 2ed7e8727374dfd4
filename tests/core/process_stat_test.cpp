#include "actors/core/process_stat.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::process_stat_test {

using namespace actorrun::core;

namespace {

/// Without what follows the session.
process_stat brief(const std::string& name, char state, int64_t parent = 0,
                   int64_t session = 0) {
  return {.name = name, .state = state, .session = session, .parent = parent};
}

} // namespace

TEST_CASE("process_stat: name, state, parent and session are read", "[core]") {
  CHECK(parse_stat("12 (sleep) S 1 2 3\n") == brief("sleep", 'S', 1, 3));
  CHECK(parse_stat("12 (a) b) (c) D 1") == brief("a) b) (c", 'D', 1));
  CHECK(parse_stat("12 () R") == brief("", 'R'));
  CHECK(parse_stat("12 (\n S 1 (\xff) Z x y z") == brief("\n S 1 (\xff", 'Z'));
}

TEST_CASE("process_stat: the time of birth is read", "[core]") {
  const auto x = parse_stat("12 (a 1) S 1 12 12 34816 31 4194304 97 0 0 0 0 0 0"
                            " 0 20 0 1 0 54321 5578752 224 18446744073709551615"
                            "\n");
  REQUIRE(x);
  CHECK(x->session == 12);
  CHECK(x->birth == 54321u);
}

TEST_CASE("process_stat: use of CPU, threads and memory are read", "[core]") {
  const auto x
    = parse_stat("12 (a) S 7 12 12 34816 31 4194304 97 0 0 0 11 22 33"
                 " 44 20 0 5 0 54321 5578752 224 18446744073709551615"
                 "\n");
  REQUIRE(x);
  CHECK(x->parent == 7);
  CHECK(x->cpu_ticks == 110u);
  CHECK(x->thread_count == 5u);
  CHECK(x->resident_pages == 224u);
}

TEST_CASE("process_stat: fields that are cut off, odd or too large are unknown",
          "[core]") {
  const auto head = std::string{"12 (a) S 7 12 12 0 0 0 0 0 0 0 "};
  CHECK_FALSE(parse_stat(head)->cpu_ticks);
  CHECK_FALSE(parse_stat(head + "1 2 3")->cpu_ticks);
  CHECK(parse_stat(head + "1 2 3 4")->cpu_ticks == 10u);
  CHECK_FALSE(parse_stat(head + "1 2 x 4 20 0 5")->cpu_ticks);
  CHECK_FALSE(
    parse_stat(head + "1 99999999999999999999 3 4 20 0 5")->cpu_ticks);
  CHECK(parse_stat(head + "1 2 -3 -4 20 0 5")->cpu_ticks == 3u);
  CHECK_FALSE(parse_stat(head + "1 2 3 4 20 0 4294967296")->thread_count);
  CHECK_FALSE(parse_stat(head + "1 2 3 4 20 0 5 0 9 9")->resident_pages);
  CHECK_FALSE(parse_stat(head + "1 2 3 4 20 0 5 0 9 9 -1")->resident_pages);
}

TEST_CASE("process_stat: other lines are refused", "[core]") {
  for (const auto* text : {"", "12", "12 (sleep", "12 sleep) S", "12 (sleep)",
                           "12 (sleep) ", "12 (sleep)S", ") ("})
    CHECK_FALSE(parse_stat(text));
}

TEST_CASE(
  "process_stat: P1 a process that is ending is known by its flags and its"
  " exit code",
  "[core]") {
  const auto stat_of = [](const std::string& state, const std::string& flags,
                          const std::string& exit_code) {
    auto text = "12 (a) " + state + " 7 12 12 0 -1 " + flags;
    for (auto i = 0; i < 42; ++i)
      text += " 0";
    const auto x = parse_stat(text + " " + exit_code + "\n");
    REQUIRE(x);
    return *x;
  };
  CHECK_FALSE(stat_of("R", "4194560", "0").is_ending());
  CHECK_FALSE(stat_of("T", "4194560", "0").is_ending());
  CHECK(stat_of("R", "4194564", "0").is_ending()); // It exits.
  CHECK(stat_of("D", "4195328", "0").is_ending()); // It was killed.
  CHECK(
    stat_of("R", "4194560", "9").is_ending()); // Its threads are not gone yet.
  CHECK(stat_of("Z", "4194560", "0").is_ending());
  CHECK(stat_of("R", "4194560", "9").exit_code == 9);
  CHECK_FALSE(parse_stat("12 (a) R 7 12 12 0 -1")->is_ending());
}

} // namespace actorrun::test::process_stat_test
