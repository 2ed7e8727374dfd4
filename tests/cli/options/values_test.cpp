#include "cli/options/values.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::values_test {

using namespace actorrun::cli;
using namespace std::chrono_literals;

TEST_CASE("values: a node range is N or MIN:MAX", "[cli]") {
  CHECK(*parse_node_range("3") == node_range{3, 3});
  CHECK(*parse_node_range("1:4") == node_range{1, 4});
  CHECK(*parse_node_range(" 1 : 4 ") == node_range{1, 4});
  CHECK(*parse_node_range("100000") == node_range{100'000, 100'000});
  for (const auto* text :
       {"", "a", "1:", ":2", "1:2:3", "0", "0:1", "3:2", "1:100001", "1.5",
        "-1", "2x", "99999999999999999999"}) {
    INFO(text);
    const auto x = parse_node_range(text);
    REQUIRE_FALSE(x);
    CHECK(x.error().code == errc::bad_argument);
    CHECK(x.error().text.find(text) != std::string::npos);
  }
}

TEST_CASE("values: an endpoint has a host and optionally a port", "[cli]") {
  const std::pair<const char*, endpoint> good[] = {
    {"n1", {"n1", 29'400}},
    {"n1:5", {"n1", 5}},
    {"n_1.example.org:65535", {"n_1.example.org", 65'535}},
    {"10.0.0.1:0", {"10.0.0.1", 0}},
    {":29500", {"", 29'500}},
    {"[::1]", {"::1", 29'400}},
    {"[fe80::1%eth0]:7", {"fe80::1%eth0", 7}},
    {" n1:5 ", {"n1", 5}},
    {"[n1]:5", {"n1", 5}},
    {"n1.:5", {"n1.", 5}},
  };
  for (const auto& [text, expected] : good) {
    INFO(text);
    const auto x = parse_endpoint(text);
    REQUIRE(x);
    CHECK(*x == expected);
  }
}

TEST_CASE("values: an invalid endpoint is refused", "[cli]") {
  for (const auto* text :
       {"n1:", "n1:65536", "n1:x", "n1:+5", "n1:-1", "n1:000005", "a b:5",
        "n1/x:5", "::1", "::1:29400", "[::1", "[]:5", "n1%eth0", "[::1]x"}) {
    INFO(text);
    const auto x = parse_endpoint(text);
    REQUIRE_FALSE(x);
    CHECK(x.error().text.find(text) != std::string::npos);
  }
}

TEST_CASE("values: endpoints are separated by commas", "[cli]") {
  const auto x = parse_endpoints("n1, n2:7,[::1]", 2'379);
  REQUIRE(x);
  CHECK(*x == std::vector<endpoint>{{"n1", 2'379}, {"n2", 7}, {"::1", 2'379}});
  CHECK(parse_endpoints("n1")->size() == 1);
  for (const auto* text : {",", "n1,", ",n1", "n1,,n2", "n1, ,n2", "n1,n2:x"}) {
    INFO(text);
    CHECK_FALSE(parse_endpoints(text));
  }
}

TEST_CASE("values: a span is seconds or has a unit", "[cli]") {
  const std::pair<const char*, std::chrono::milliseconds> good[] = {
    {"30", 30s},
    {"0.3", 300ms},
    {"300ms", 300ms},
    {"2s", 2s},
    {"5m", 5min},
    {"0.5m", 30s},
    {"1ms", 1ms},
    {"604800", 168h},
    {" 2 s ", 2s},
    {"+2", 2s},
    {"10080m", timeout_max},
    {"1.5h", 90min},
    {"2d", 48h},
    {"7d", timeout_max},
  };
  for (const auto& [text, expected] : good) {
    INFO(text);
    const auto x = parse_span(text);
    REQUIRE(x);
    CHECK(*x == expected);
  }
  for (const auto* text : {"", "s", "0", "-1", "0.0001", "604801", "1w", "1e3",
                           "inf", "nan", "1 2", "10081m", "8d", "1hd", "+-1"}) {
    INFO(text);
    CHECK_FALSE(parse_span(text));
  }
  CHECK(parse_span("8d", 0ms).error().text
        == "\"8d\" is not between 0ms and 7 days");
}

TEST_CASE("values: an endpoint has no protocol", "[cli]") {
  const auto x = parse_endpoint("tcp://node1:29400");
  REQUIRE_FALSE(x);
  CHECK(x.error().text
        == "\"tcp://node1:29400\" begins with a protocol; HOST[:PORT] is"
           " wanted: node1:29400");
  CHECK(parse_endpoint("a b").error().text
        == "\"a b\" is neither a host name nor an IP address");
}

TEST_CASE("values: whole seconds may be 0", "[cli]") {
  CHECK(*parse_whole_seconds("0") == 0ms);
  CHECK(*parse_whole_seconds("604800") == timeout_max);
  for (const auto* text : {"604801", "-1", "0.5", "1s", ""})
    CHECK_FALSE(parse_whole_seconds(text));
}

TEST_CASE("values: counts keep their bounds", "[cli]") {
  CHECK(*parse_count("4", 4, 6) == 4);
  CHECK(*parse_count("6", 4, 6) == 6);
  CHECK(*parse_count("+5", 4, 6) == 5);
  for (const auto* text : {"3", "7", "", "4.0", "0x5", "5 5", "--5"})
    CHECK_FALSE(parse_count(text, 4, 6));
}

TEST_CASE("values: words and numbers for yes and no are torchrun's", "[cli]") {
  for (const auto* yes : {"1", "true", "T", "Yes", "y"})
    CHECK(*parse_bool_word(yes));
  for (const auto* no : {"0", "FALSE", "f", "no", "N"})
    CHECK_FALSE(*parse_bool_word(no));
  for (const auto* other : {"", "2", "on", "maybe"})
    CHECK_FALSE(parse_bool_word(other));
  CHECK(*parse_flag_variable("-1"));
  CHECK_FALSE(*parse_flag_variable(" 0 "));
  CHECK_FALSE(*parse_flag_variable(""));
  CHECK_FALSE(parse_flag_variable("yes"));
}

TEST_CASE("values: positive numbers are finite and above 0", "[cli]") {
  CHECK(*parse_positive("0.1") == 0.1);
  CHECK(*parse_positive("5") == 5);
  for (const auto* text : {"0", "-1", "inf", "nan", "", "1x"})
    CHECK_FALSE(parse_positive(text));
}

TEST_CASE("values: a text is UTF-8 of a bounded size", "[cli]") {
  CHECK(*parse_text("node-b \u00e4") == "node-b \u00e4");
  CHECK(*parse_text("") == "");
  CHECK(parse_text(std::string(text_size_max, 'x')));
  CHECK(parse_text(std::string(text_size_max + 1, 'x')).error().text
        == "the text has 4097 bytes, and may have 4096");
  CHECK(parse_text("x\xff").error().text.ends_with(" is not valid UTF-8"));
}

} // namespace actorrun::test::values_test
