// Tests the text of a list of excluded hosts.
#include "actors/core/protocol/exclusion_list.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::exclusion_list_test {

using namespace actorrun::core;

namespace {

constexpr auto two = "# sick since the outage\n"
                     "n2 2026-11-30T04:10:11Z alice: bad disk\n"
                     "\n"
                     "n3 2026-12-01T00:00:00Z\n";

std::string why(std::string_view text) {
  const auto x = parse_exclusion_list(text);
  return x ? "" : x.error().text;
}

} // namespace

TEST_CASE("exclusion_list: lines name hosts, times and reasons", "[core]") {
  const auto x = parse_exclusion_list(two);
  REQUIRE(x);
  CHECK(*x
        == std::vector<listed_host>{{"n2", 1'796'011'811, "alice: bad disk"},
                                    {"n3", 1'796'083'200, ""}});
  CHECK(parse_exclusion_list("")->empty());
  CHECK(parse_exclusion_list("n2 2026-11-30T04:10:11Z")->size() == 1);
  CHECK(utc_text(1'796'011'811) == "2026-11-30T04:10:11Z");
  CHECK(utc_text(0) == "1970-01-01T00:00:00Z");
}

TEST_CASE("exclusion_list: of a host that is named twice the first line counts",
          "[core]") {
  const auto x = parse_exclusion_list("n2 2026-11-30T04:10:11Z one\n"
                                      "n2 2026-11-30T04:10:12Z two\n");
  REQUIRE(x);
  REQUIRE(x->size() == 1);
  CHECK(x->front().reason == "one");
}

TEST_CASE("exclusion_list: a broken line is refused, and named", "[core]") {
  CHECK(why("n2 2026-11-30T04:10:11Z\nn3\n")
        == "line 2 has no time behind the host; a line is HOST TIME REASON, as"
           " in: n2 2026-11-30T04:10:11Z bad disk");
  for (const auto* time :
       {"2026-11-30 04:10:11Z", "2026-11-30T04:10:11", "2026-02-30T04:10:11Z",
        "2026-13-30T04:10:11Z", "2026-11-30T24:10:11Z", "2026-11-30T04:60:11Z",
        "2026-11-30T04:10:60Z", "2026-11-30T04:10:11+01:00", "yesterday"})
    CHECK(why("n2 " + std::string{time}).starts_with("line 1 has no time"));
  CHECK(why(" n2 2026-11-30T04:10:11Z").starts_with("line 1 begins with no"));
  CHECK(why("n/2 2026-11-30T04:10:11Z").starts_with("line 1 begins with no"));
}

TEST_CASE("exclusion_list: what is too much is refused", "[core]") {
  const auto line = std::string{"n2 2026-11-30T04:10:11Z "};
  const auto full
    = line + std::string(exclusion_line_size_max - line.size(), 'x');
  CHECK(why(full).empty());
  CHECK(why(full + "x").starts_with("line 1 is longer than 1024 bytes"));
  CHECK(why(std::string(exclusion_list_size_max, '\n')).empty());
  CHECK(why(std::string(exclusion_list_size_max + 1, '\n'))
          .starts_with("it is longer than"));
  auto hosts = std::string{};
  for (size_t i = 0; i < excluded_hosts_max; ++i)
    hosts += "n" + std::to_string(i) + " 2026-11-30T04:10:11Z\n";
  CHECK(why(hosts).empty());
  CHECK(why(hosts + "m 2026-11-30T04:10:11Z\n")
        == "it names 65 hosts; a job takes 64 at most");
  CHECK_FALSE(with_host(hosts, {"m", 0, ""}));
}

TEST_CASE("exclusion_list: hosts come and go, and comments stay", "[core]") {
  const auto more = with_host(two, {"n4", 1'796'011'811, "fell off"});
  REQUIRE(more);
  CHECK(*more == std::string{two} + "n4 2026-11-30T04:10:11Z fell off\n");
  CHECK(*with_host(*more, {"n2", 0, "again"}) == *more);
  CHECK(*with_host("# no end", {"n4", 0, ""})
        == "# no end\nn4 1970-01-01T00:00:00Z\n");
  CHECK(*without_host(*more, "n2")
        == "# sick since the outage\n\nn3 2026-12-01T00:00:00Z\n"
           "n4 2026-11-30T04:10:11Z fell off\n");
  CHECK(*without_host(two, "n5") == two);
  CHECK_FALSE(without_host("n2", "n2"));
  CHECK_FALSE(with_host("n2", {"n3", 0, ""}));
}

TEST_CASE("exclusion_list: a job says who has excluded a host, and why",
          "[core]") {
  CHECK(to_listed({"n2", "bad\ndisk", "alice"}, 7)
        == listed_host{"n2", 7, "alice: bad disk"});
  CHECK(to_listed({"n2", "", "alice"}, 7).reason == "alice");
  CHECK(to_listed({"n2", "2 failures", ""}, 7).reason == "2 failures");
  CHECK(to_string(to_excluded({"n2", 1'796'011'811, "alice: bad disk"}))
        == "host n2 is excluded by --exclude-file: alice: bad disk, since "
           "2026-11-30T04:10:11Z");
  CHECK(to_excluded({"n2", 0, ""}).reason == "since 1970-01-01T00:00:00Z");
}

} // namespace actorrun::test::exclusion_list_test
