#include "runtime/worker/detail/fixed_text.hpp"
#include "tests/support/catch.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <random>
#include <string>

namespace actorrun::test::fixed_text_test {

using namespace actorrun::recording;

namespace {

template <size_t Capacity = 256>
struct text_of {
  char buffer[Capacity];
  fixed_text text{buffer};

  operator std::string() const { return std::string{text.view()}; }
};

std::string json_of(std::string_view text) {
  auto x = text_of<1'024>{};
  x.text.put_json(text);
  return x;
}

} // namespace

TEST_CASE("fixed text: text that does not fit is left out", "[worker]") {
  auto x = text_of<4>{};
  x.text.put("abc").put("d");
  CHECK(std::string{x} == "abcd");
  x.text.put("e");
  CHECK(std::string{x} == "abcd");
  x.text.cut(1);
  x.text.put("xyz!");
  CHECK(std::string{x} == "axyz");
}

TEST_CASE("fixed text: numbers are spelled out", "[worker]") {
  auto x = text_of<>{};
  x.text.put_number(0).put(" ").put_number(UINT64_MAX).put(" ");
  x.text.put_hex(0).put(" ").put_hex(0x1F).put(" ").put_hex(UINT64_MAX);
  CHECK(std::string{x} == "0 18446744073709551615 0x0 0x1f 0xffffffffffffffff");
}

TEST_CASE("fixed text: JSON is as Python writes it", "[worker]") {
  CHECK(json_of("plain ~") == "plain ~");
  CHECK(json_of("\"\\\b\f\n\r\t/") == R"(\"\\\b\f\n\r\t/)");
  CHECK(json_of(std::string_view{"\0\x1f\x7f", 3}) == R"(\u0000\u001f\u007f)");
  CHECK(json_of("é€😀") == R"(\u00e9\u20ac\ud83d\ude00)");
  CHECK(json_of("\uffff\U00010000\U0010ffff")
        == R"(\uffff\ud800\udc00\udbff\udfff)");
}

TEST_CASE("fixed text: invalid UTF-8 is replaced", "[worker]") {
  const auto bad = std::string{R"(\ufffd)"};
  CHECK(json_of("\xff") == bad);
  CHECK(json_of("\xc3") == bad);
  CHECK(json_of("\xc0\xaf") == bad + bad);
  CHECK(json_of("\xe0\x9f\xbf") == bad + bad + bad);
  CHECK(json_of("\xed\xa0\x80") == bad + bad + bad);
  CHECK(json_of("\xf4\x90\x80\x80") == bad + bad + bad + bad);
  CHECK(json_of("\xf0\x8f\xbf\xbf") == bad + bad + bad + bad);
  CHECK(json_of("\xc3(") == bad + "(");
}

TEST_CASE("fixed text: any bytes become valid JSON of bounded size",
          "[worker]") {
  auto dice = std::mt19937{1};
  for (int i = 0; i < 1'000; ++i) {
    auto bytes = std::string(100, '\0');
    for (auto& x : bytes)
      x = static_cast<char>(dice());
    const auto text = json_of(bytes);
    CHECK(text.size() <= json_expansion_max * bytes.size());
    CHECK(nlohmann::json::accept("\"" + text + "\""));
  }
}

TEST_CASE("fixed text: the end of a text has a given length", "[worker]") {
  CHECK(end_of("abc", 3) == "abc");
  CHECK(end_of("abc", 2) == "bc");
  CHECK(end_of("abc", 4) == "abc");
}

} // namespace actorrun::test::fixed_text_test
