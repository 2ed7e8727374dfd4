#include "actors/core/timers/json.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::json_test {

using namespace actorrun::core;

namespace {

/// The text of a string; `!` if it is none.
std::string string_in(std::string_view json) {
  auto uut = json_cursor{json};
  auto text = std::string{};
  return uut.read_string(&text) && uut.at_end() ? text : "!";
}

std::string number_in(std::string_view json) {
  auto uut = json_cursor{json};
  const auto x = uut.read_number();
  return x && uut.at_end() ? std::string{*x} : "!";
}

bool is_value(std::string_view json) {
  auto uut = json_cursor{json};
  return uut.skip_value() && uut.at_end();
}

json_cursor::error error_in(std::string_view json) {
  auto uut = json_cursor{json};
  uut.skip_value();
  return uut.wrong();
}

using error = json_cursor::error;

} // namespace

TEST_CASE("json_cursor: a string is read with its escapes", "[core]") {
  CHECK(string_in(R"("")") == "");
  CHECK(string_in(R"( "a b" )") == "a b");
  CHECK(string_in(R"("\"\\\/\b\f\n\r\t")") == "\"\\/\b\f\n\r\t");
  CHECK(string_in(R"("\u0041\u00e4\u20AC")") == "A\xC3\xA4\xE2\x82\xAC");
  CHECK(string_in(R"("\u0000")") == std::string(1, '\0'));
  CHECK(string_in("\"\xC3\xA4\xF0\x9F\x98\x80\"")
        == "\xC3\xA4\xF0\x9F\x98\x80");
  CHECK(string_in("\"\x7F\"") == "\x7F");
}

TEST_CASE("json_cursor: two surrogates are one character", "[core]") {
  CHECK(string_in(R"("\ud83d\ude00")") == "\xF0\x9F\x98\x80");
  CHECK(string_in(R"("\uDBFF\uDFFF")") == "\xF4\x8F\xBF\xBF");
}

TEST_CASE("json_cursor: half of a surrogate pair becomes U+FFFD", "[core]") {
  const auto replaced = std::string{"\xEF\xBF\xBD"};
  CHECK(string_in(R"("\udcff")") == replaced);
  CHECK(string_in(R"("\ud83d")") == replaced);
  CHECK(string_in(R"("\ud83dx")") == replaced + "x");
  CHECK(string_in(R"("\ud83d\n")") == replaced + "\n");
  CHECK(string_in(R"("\ud83d\u0041")") == replaced + "A");
  CHECK(string_in(R"("\ud83d\ud83d\ude00")") == replaced + "\xF0\x9F\x98\x80");
}

TEST_CASE("json_cursor: other text is refused as a string", "[core]") {
  for (const auto* x : {"", "a", "\"", "\"a", R"("\)", R"("\")", R"("\x41")",
                        R"("\u")", R"("\u12")", R"("\u12g4")", R"("\u123)",
                        R"("\ud83d\u12")", R"("\ud83d\u)", "'a'"})
    CHECK(string_in(x) == "!");
}

TEST_CASE("json_cursor: bytes that are not UTF-8 are reported as such",
          "[core]") {
  for (const auto* x :
       {"\"\x01\"", "\"\n\"", "\x02", "\"\xFF\"", "\"\x80\"", "\"\xC3\"",
        "\"\xC0\x80\"", "\"\xE0\x80\x80\"", "\"\xED\xA0\x80\"", "\"\xE2\x82\"",
        "\"\xE2\x82z\"", "\"\xF4\x90\x80\x80\"", "\"\xF0\x80\x80\x80\"",
        "\"\xF5\x80\x80\x80\"", "\xFE"})
    CHECK(error_in(x) == error::not_text);
  CHECK(error_in(std::string_view{"\0", 1}) == error::not_text);
}

TEST_CASE("json_cursor: numbers are those of JSON and Python", "[core]") {
  for (const auto* x :
       {"0", "-0", "1", "-1", "10", "0.5", "-0.25", "1e9", "1E9", "1e+9",
        "1e-9", "1.5e300", "1795211734.7", "NaN", "Infinity", "-Infinity"})
    CHECK(number_in(x) == x);
  for (const auto* x :
       {"", "-", "+1", "01", "-01", "1.", ".5", "1.e5", "1e", "1e+", "0x10",
        "1_000", "nan", "inf", "-NaN", "+Infinity", "Infinit", "--1", "- 1"})
    CHECK(number_in(x) == "!");
}

TEST_CASE("json_cursor: a value of any kind can be skipped", "[core]") {
  for (const auto* x :
       {"null", "true", "false", "1", "\"a\"", "[]", "{}", "[ ]", "{ }", "[1]",
        "[1, 2]", "[[], {}]", "[[[1]], 2]", R"({"a": 1})",
        R"({"a": {"b": [1, {"c": null}]}, "d": []})", " [ 1 , \t2 ] ",
        R"([{}, {"a": []}, [1, "]"]])"})
    CHECK(is_value(x));
  for (const auto* x : {"",
                        "nul",
                        "True",
                        "[",
                        "]",
                        "[1",
                        "[1,",
                        "[1,]",
                        "[,1]",
                        "[1 2]",
                        "{",
                        "{1: 2}",
                        R"({"a"})",
                        R"({"a":})",
                        R"({"a": 1,})",
                        R"({"a": 1 "b": 2})",
                        "[1}",
                        R"({"a": 1])",
                        "[1]]",
                        "{}}",
                        "[\"a]",
                        R"({a: 1})",
                        "[1:2]"})
    CHECK(!is_value(x));
}

TEST_CASE("json_cursor: nesting is bounded", "[core]") {
  const auto nested = [](uint32_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  CHECK(is_value(nested(json_cursor::depth_max)));
  CHECK(!is_value(nested(json_cursor::depth_max + 1)));
  CHECK(error_in(nested(json_cursor::depth_max + 1)) == error::too_deep);
}

} // namespace actorrun::test::json_test
