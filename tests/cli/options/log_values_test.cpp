#include "actors/core/workers/worker_settings.hpp"
#include "cli/options/log_values.hpp"
#include "runtime/options.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::log_values_test {

using namespace actorrun::cli;
using core::std_streams;

namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

template <class T>
std::string refusal(const result<T>& x) {
  REQUIRE_FALSE(x);
  CHECK(x.error().code == errc::bad_argument);
  return x.error().text;
}

core::stream_choice streams(const char* text) {
  auto x = parse_stream_choice(text);
  INFO((x ? "" : x.error().text));
  REQUIRE(x);
  return *x;
}

} // namespace

TEST_CASE("log values: one mask is for all ranks", "[cli]") {
  const std::pair<const char*, std_streams> masks[] = {
    {"0", std_streams::none},  {"1", std_streams::out},
    {"2", std_streams::err},   {"3", std_streams::all},
    {" 3 ", std_streams::all},
  };
  for (const auto& [text, mask] : masks) {
    CHECK(streams(text).of(0) == mask);
    CHECK(streams(text).of(4'095) == mask);
  }
}

TEST_CASE("log values: masks by rank take ranks of any length", "[cli]") {
  const auto x = streams("0:1,12:3,4095:2,7:0");
  CHECK(x.of(0) == std_streams::out);
  CHECK(x.of(12) == std_streams::all);
  CHECK(x.of(4'095) == std_streams::err);
  CHECK(x.of(7) == std_streams::none);
  CHECK(x.of(1) == std_streams::none); // Not named.
  CHECK(streams("3:2").of(3) == std_streams::err);
}

TEST_CASE("log values: bad masks are quoted, with both forms", "[cli]") {
  for (const auto* text :
       {"", "4", "-1", "01", "x", "0:", "0:4", ":1", "0:1,", ",0:1", "0:1,,1:1",
        "0:1 1:1", "0-1:3", "0:1,3", "1,2", "0:1:2", "all"}) {
    const auto why = refusal(parse_stream_choice(text));
    INFO(why);
    CHECK(has(why, "\"" + std::string{text} + "\""));
    CHECK((has(why, "0 none, 1 stdout, 2 stderr, 3 both")
           || has(why, "is not an integer in 0..4095")));
    if (has(why, "neither"))
      CHECK(has(why, "RANK:MASK,... such as 0:1,12:3"));
  }
  CHECK(has(refusal(parse_stream_choice("0:1,3:2,0:1")),
            "local rank 0 is listed twice"));
  CHECK(
    has(refusal(parse_stream_choice("0:1,00:2")), "rank 0 is listed twice"));
  CHECK(has(refusal(parse_stream_choice("4096:1")), "\"4096\" is not in"));
  CHECK(has(refusal(parse_stream_choice("-1:1")), "\"-1\" is not in"));
}

TEST_CASE("log values: local ranks are a list, and nothing is all", "[cli]") {
  using ranks = std::set<uint32_t>;
  CHECK(*parse_local_ranks("0") == ranks{0});
  CHECK(*parse_local_ranks("3,0, 12,4095,0") == ranks{0, 3, 12, 4'095});
  CHECK(*parse_local_ranks("") == std::nullopt);
  for (const auto* text : {",", "0,", ",0", "a", "0;1", "-1", "4096", "0-3"})
    CHECK(has(refusal(parse_local_ranks(text)), text));
}

TEST_CASE("log values: filters are texts separated by commas", "[cli]") {
  using filters = std::vector<std::string>;
  CHECK(parse_filters("")->empty());
  CHECK(*parse_filters("apple") == filters{"apple"});
  CHECK(*parse_filters("apple,orange") == filters{"apple", "orange"});
  CHECK(*parse_filters("a,,b,c") == filters{"a,b", "c"});
  CHECK(*parse_filters(",,") == filters{","});
  CHECK(*parse_filters("a,,,b") == filters{"a,", "b"});
  CHECK(*parse_filters(" a , b") == filters{" a ", " b"});
  for (const auto* text : {",", "a,", ",a", "a,,,"}) {
    const auto why = refusal(parse_filters(text));
    CHECK(has(why, "a filter is empty"));
    CHECK(has(why, text));
  }
}

TEST_CASE("log values: sizes have units and bounds", "[cli]") {
  const auto size = [](const std::string& text) {
    const auto x = parse_rotate_size(text);
    INFO((x ? "" : x.error().text));
    REQUIRE(x);
    return *x;
  };
  CHECK(size("0") == 0);
  CHECK(size("0K") == 0);
  CHECK(size("65536") == core::rotate_size_min);
  CHECK(size("64K") == core::rotate_size_min);
  CHECK(size("64k") == core::rotate_size_min);
  CHECK(size("100M") == 104'857'600);
  CHECK(size(" 2G ") == 2'147'483'648);
  CHECK(size("16384G") == rotate_size_max);
  for (const auto* text : {"65535", "63K", "1", "16385G", "17592186044417",
                           "18446744073709551615", "99999999999G"}) {
    const auto why = refusal(parse_rotate_size(text));
    CHECK(has(why, "neither 0 nor between 64K and 16384G"));
    CHECK(has(why, text));
  }
  for (const auto* text : {"", "K", "-1", "+5M", "1.5M", "64KB", "64 K", "0x9",
                           "1T", "99999999999999999999999"})
    CHECK(has(refusal(parse_rotate_size(text)), "is not a size; 65536, 64K"));
}

} // namespace actorrun::test::log_values_test
