#include "cli/options/http_options.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::http_options_test {

using namespace actorrun::cli;

TEST_CASE("http options: a port alone is for this host only", "[cli]") {
  const auto x
    = accepted({"--metrics-port=9400", "--dashboard-port", "0", "a"});
  CHECK(x.http.metrics == endpoint{"127.0.0.1", 9400});
  CHECK(x.http.page == endpoint{"127.0.0.1", 0});
  CHECK_FALSE(x.http.health);
  CHECK_FALSE(accepted({"a"}).http.is_any_set());
  CHECK(accepted({"a"}, {{"PET_METRICS_PORT", "1"}}).http.metrics
        == endpoint{"127.0.0.1", 1});
}

TEST_CASE("http options: an address is taken as it stands", "[cli]") {
  const auto of = [](const std::string& text) {
    return accepted({"--metrics-port=" + text, "a"}).http.metrics;
  };
  CHECK(of("0.0.0.0:9400") == endpoint{"0.0.0.0", 9400});
  CHECK(of("[::]:9400") == endpoint{"::", 9400});
  CHECK(of("[::1]:65535") == endpoint{"::1", 65'535});
  CHECK(of("10.1.2.3:80") == endpoint{"10.1.2.3", 80});
  CHECK(of("localhost:80") == endpoint{"127.0.0.1", 80});
}

TEST_CASE("http options: what names no port of an address is refused",
          "[cli]") {
  for (const auto* text : {"", "x", "65536", "-1", "node1:80", ":80", "::1:80",
                           "[::1]", "[]:80", "[node1]:80", "1.2.3:80",
                           "80:", "0.0.0.0:80:90", "http://localhost:80"}) {
    INFO(text);
    const auto why = refused({std::string{"--dashboard-port="} + text, "a"});
    CHECK(has(why, "--dashboard-port"));
    CHECK(has(why, "is not a port"));
  }
}

} // namespace actorrun::test::http_options_test
