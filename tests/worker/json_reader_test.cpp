#include "runtime/worker/detail/json_reader.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

#include <random>
#include <string>
#include <vector>

namespace actorrun::test::json_reader_test {

using namespace actorrun::worker;

namespace {

std::string text_in(std::string_view json) {
  const auto x = parse_json(json);
  return x ? x->text : "nothing";
}

} // namespace

TEST_CASE("json reader: values of all kinds", "[worker]") {
  const auto x
    = parse_json(" {\"a\": [1, -2.5e3, true, false, null, {}], \"b\":\"c\"}\n");
  REQUIRE(x);
  REQUIRE(x->find("a") != nullptr);
  const auto& items = x->find("a")->items;
  REQUIRE(items.size() == 6);
  CHECK(items[0].as_number() == 1);
  CHECK(items[1].text == "-2.5e3");
  CHECK_FALSE(items[1].as_number());
  CHECK(items[2].is == json_value::kind::boolean);
  CHECK(items[2].text == "true");
  CHECK_FALSE(items[2].as_number());
  CHECK(items[4].is == json_value::kind::null);
  CHECK(items[5].is == json_value::kind::object);
  CHECK(x->find("b")->text == "c");
  CHECK(x->find("c") == nullptr);
}

TEST_CASE("json reader: numbers", "[worker]") {
  const auto number
    = [](std::string_view text) { return parse_json(text)->as_number(); };
  CHECK(number("18446744073709551615") == UINT64_MAX);
  CHECK_FALSE(number("18446744073709551616"));
  CHECK_FALSE(number("-1"));
  CHECK_FALSE(number("1.0"));
  CHECK_FALSE(number("1e2"));
  CHECK_FALSE(parse_json("\"1\"")->as_number());
}

TEST_CASE("json reader: the last of several members of a name counts",
          "[worker]") {
  CHECK(parse_json(R"({"a":1,"a":2})")->find("a")->as_number() == 2);
}

TEST_CASE("json reader: escapes", "[worker]") {
  CHECK(text_in(R"("\"\\\/\b\f\n\r\t")") == "\"\\/\b\f\n\r\t");
  CHECK(text_in(R"("\u0041\u00e4\u20AC\ud83d\ude00")")
        == "A\u00e4\u20ac\U0001F600");
  CHECK(text_in(R"("\ud83d")") == "\uFFFD");
  CHECK(text_in(R"("\ude00x")") == "\uFFFDx");
  CHECK(text_in(R"("\ud83d\ud83d\ude00")") == "\uFFFD\U0001F600");
  CHECK(text_in(R"("\ud83d\n")") == "\uFFFD\n");
  CHECK(text_in(R"("\u0000")") == std::string(1, '\0'));
}

TEST_CASE("json reader: what is no JSON is nothing", "[worker]") {
  for (const auto* x : {"",
                        " ",
                        "{",
                        "[1,]",
                        "{,}",
                        R"({"a"})",
                        R"({"a":})",
                        R"({"a":1,})",
                        R"({a:1})",
                        "01",
                        "1.",
                        ".1",
                        "-",
                        "1e",
                        "+1",
                        "tru",
                        "truex",
                        "nul",
                        "1 2",
                        "\"",
                        "\"\\\"",
                        "\"\\u12\"",
                        "\"\\u12g4\"",
                        "\"\\x\"",
                        "\"\n\"",
                        "\"\xff\"",
                        "\"\xc0\x80\"",
                        "\"\xed\xa0\x80\"",
                        "'a'",
                        "[1 2]"})
    CHECK(text_in(x) == "nothing");
}

TEST_CASE("json reader: its depth is bounded", "[worker]") {
  const auto nested = [](int depth) {
    return std::string(size_t(depth), '[') + std::string(size_t(depth), ']');
  };
  CHECK(parse_json(nested(json_depth_max)));
  CHECK_FALSE(parse_json(nested(json_depth_max + 1)));
  CHECK_FALSE(parse_json(std::string(100'000, '[')));
}

TEST_CASE("json reader: arbitrary bytes, as another reader sees them",
          "[worker]") {
  auto dice = std::mt19937{4};
  const auto seeds = std::vector<std::string>{
    R"({"type":"generation","generation":4,"survivors":[[0,2],[4,63]],"a":null})",
    R"(["\u00e4\ud83d\ude00\n","\\",-1.5e-3,0,true,false])",
    "{\"reason\":\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"}"};
  const auto any = [&](size_t end) { return dice() % end; };
  for (auto i = 0; i < 30'000; ++i) {
    auto text = seeds[any(seeds.size())];
    for (auto n = any(3) + 1; n > 0; --n)
      if (any(2) == 0)
        text[any(text.size())] = static_cast<char>(any(256));
      else
        text.insert(any(text.size()), 1, "{}[]\",:\\0-e.u"[any(13)]);
    const auto ours = parse_json(text);
    // Halves of surrogate pairs, which we read, are refused there.
    if (text.find("\\u") == text.npos)
      CHECK(ours.has_value() == nlohmann::json::accept(text));
  }
}

TEST_CASE("json reader: what is written can be read", "[worker]") {
  const auto there_and_back = [](std::string_view text) {
    auto out = std::string{};
    append_json(out, text);
    CHECK(nlohmann::json::accept(out));
    return text_in(out);
  };
  CHECK(there_and_back("") == "");
  CHECK(there_and_back("a \"b\" \\ \x01\n\x7f") == "a \"b\" \\ \x01\n\x7f");
  CHECK(there_and_back("\u00e4\U0001F600") == "\u00e4\U0001F600");
  CHECK(there_and_back("a\xff\xc3") == "a??");
}

} // namespace actorrun::test::json_reader_test
