#include "actors/core/text.hpp"
#include "tests/support/catch.hpp"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace actorrun::test::text_test {

using namespace actorrun::core;
using namespace std::literals;

namespace {

const auto bad = "\xef\xbf\xbd"s; // U+FFFD

struct row {
  std::string bytes;
  std::string text;
};

} // namespace

TEST_CASE("host text: a name or a number, and nothing else", "[core]") {
  for (const auto* good : {"a", "node-7.cluster.example", "10.0.0.1", "::1",
                           "fe80::1%eth0", "my_host"})
    CHECK(is_host_text(good));
  for (const auto& bad_one :
       {""s, "a b"s, "a\n"s, "$(id)"s, "a/b"s, "a;b"s, "\x1b[2J"s, "a\0"s,
        "n\xc3\xb6"s, std::string(256, 'a')})
    CHECK_FALSE(is_host_text(bad_one));
  CHECK(is_host_text(std::string(255, 'a')));
}

TEST_CASE("plain text: readable text is unchanged", "[core]") {
  for (const auto& x :
       {""s, "plain"s, "tab\tand\nline"s, "Zürich"s, "\u20ac"s, "\U0001F600"s,
        "\xef\xbf\xbd"s, "\U0010FFFF"s, "\u00a0"s, "~"s})
    CHECK(printable(x) == x);
}

TEST_CASE("plain text: escape sequences are left out", "[core]") {
  const row rows[] = {
    {"\x1b[1;31mred\x1b[0m", "red"},
    {"\x1b]0;a title\x07text", "text"},
    {"\x1b]0;a title\x1b\\text", "text"},
    {"\x1b(Btext", "Btext"},
    {"\x1b", ""},
    {"\x1b[", ""},
    {"\x1b[12", "12"},
    {"\x1b]no end\nnext", "no end\nnext"},
    {"\x1b[12\nm", "12\nm"},
    {"\x1b\x01", "\\x01"},
  };
  for (const auto& x : rows) {
    CAPTURE(x.text);
    CHECK(printable(x.bytes) == x.text);
  }
}

TEST_CASE("plain text: other control characters are spelled out", "[core]") {
  CHECK(printable("a\0b"s) == "a\\x00b");
  CHECK(printable("\x07\x7f\r") == "\\x07\\x7f\\x0d");
  CHECK(printable("\u0085|\u009b|") == bad + "|" + bad + "|");
}

TEST_CASE("plain text: invalid UTF-8 is replaced", "[core]") {
  const row rows[] = {
    {"\xff", bad},
    {"\x80", bad},
    {"a\xc3", "a" + bad},                        // Cut.
    {"\xe2\x82", bad + bad},                     // Cut.
    {"\xc0\xaf", bad + bad},                     // Overlong.
    {"\xc1\xbf", bad + bad},                     // Overlong.
    {"\xe0\x9f\xbf", bad + bad + bad},           // Overlong.
    {"\xf0\x8f\xbf\xbf", bad + bad + bad + bad}, // Overlong.
    {"\xed\xa0\x80", bad + bad + bad},           // A surrogate.
    {"\xf4\x90\x80\x80", bad + bad + bad + bad}, // Beyond U+10FFFF.
    {"\xf5\x80\x80\x80", bad + bad + bad + bad}, // Beyond U+10FFFF.
    {"\xed\x9f\xbf", "\ud7ff"},        // The last before the surrogates.
    {"\xe2\x28\xa1", bad + "(" + bad}, // Not continued.
  };
  for (const auto& x : rows) {
    CAPTURE(x.text);
    CHECK(printable(x.bytes) == x.text);
  }
}

TEST_CASE("plain text: nothing turns the direction of what follows", "[core]") {
  CHECK(printable("a\u202ecba\u202c") == "a\ufffdcba\ufffd");
  CHECK(printable("\u2066x\u2069") == "\ufffdx\ufffd");
  CHECK(printable("\u2029\u202f\u2065\u206a")
        == "\u2029\u202f\u2065\u206a");               // Beside them.
  CHECK(printable("\u05d0\u0627") == "\u05d0\u0627"); // Hebrew and Arabic.
}

TEST_CASE("is_utf8: every byte belongs to a character", "[core]") {
  CHECK(is_utf8(""));
  CHECK(is_utf8("a\u00e4\u20ac\U0001f600\n"));
  CHECK_FALSE(is_utf8("a\xff"));
  CHECK_FALSE(is_utf8("\xc3"));
  CHECK_FALSE(is_utf8("\xed\xa0\x80")); // A surrogate.
}

TEST_CASE("plain text: the end of a text begins with a whole character",
          "[core]") {
  CHECK(end_of("abc", 3) == "abc");
  CHECK(end_of("abc", 2) == "bc");
  CHECK(end_of("abc", 0) == "");
  CHECK(end_of("a€b", 4) == "€b");
  CHECK(end_of("a€b", 3) == "b");
  CHECK(end_of("a€b", 2) == "b");
}

TEST_CASE("plain text: the beginning of a text ends with a whole character",
          "[core]") {
  CHECK(beginning_of("abc", 3) == "abc");
  CHECK(beginning_of("abc", 2) == "ab");
  CHECK(beginning_of("abc", 0) == "");
  CHECK(beginning_of("a€b", 4) == "a€");
  CHECK(beginning_of("a€b", 3) == "a");
  CHECK(beginning_of("\x80\x80\x80", 1) == "");
}

TEST_CASE("plain text: the first line is the first that is not blank",
          "[core]") {
  CHECK(first_line_of("") == "");
  CHECK(first_line_of("\n\r\n") == "");
  CHECK(first_line_of("one\ntwo") == "one");
  CHECK(first_line_of("\n\x1b[0m\ntwo\x1b[0m\r\n") == "two");
}

TEST_CASE("plain text: of many lines the last ones are shown", "[core]") {
  CHECK(last_lines("", false, 40) == "");
  CHECK(last_lines("a\nb\nc\n", false, 3) == "a\nb\nc");
  CHECK(last_lines("a\nb\nc\n", false, 2) == "b\nc");
  CHECK(last_lines("a\nb\nc", false, 1) == "c");
  CHECK(last_lines("a\n\nc\n\n\n", false, 2) == "\nc");
}

TEST_CASE("plain text: a line whose beginning is missing is left out",
          "[core]") {
  CHECK(last_lines("rn\nwhole\n", true, 40) == "whole");
  CHECK(last_lines("the end of the only one\n", true, 40)
        == "the end of the only one");
}

TEST_CASE("plain text: of a progress bar the last state is shown", "[core]") {
  CHECK(last_lines("start\n 1%\r 50%\r 99%\nend\n", false, 40)
        == "start\n 99%\nend");
  CHECK(last_lines("1%\r99%\r", false, 40) == "99%");
  CHECK(last_lines("1%\r99%\r\r\nend\r\n", false, 40) == "99%\nend");
  CHECK(last_lines("\r", false, 40) == "");
}

TEST_CASE("to_ranges: consecutive numbers are one range", "[core]") {
  CHECK(to_ranges({}).empty());
  CHECK(to_ranges(std::vector{7u}) == "7");
  CHECK(to_ranges(std::vector{0u, 1u}) == "0-1");
  CHECK(to_ranges(std::vector{0u, 1u, 2u, 3u, 8u}) == "0-3,8");
  CHECK(to_ranges(std::vector{0u, 2u, 3u, 4u, 9u}) == "0,2-4,9");
  CHECK(to_ranges(std::vector{0u, UINT32_MAX}) == "0,4294967295");
  CHECK(to_ranges(std::vector{3u, 1u, 2u, 1u, 9u, 3u}) == "1-3,9");
}

TEST_CASE("signal_name: as it is written in C, and empty without a name",
          "[core]") {
  CHECK(signal_name(SIGTERM) == "SIGTERM");
  CHECK(signal_name(SIGABRT) == "SIGABRT");
  CHECK(signal_name(99).empty());
  CHECK(signal_name(0).empty());
}

TEST_CASE("error_text: the description, and the number of what has none",
          "[core]") {
  CHECK(error_text(ENOENT) == "No such file or directory");
  CHECK(error_text(12345) == "error 12345");
  CHECK(system_failure("epoll", EMFILE).text == "epoll: Too many open files");
}

} // namespace actorrun::test::text_test
