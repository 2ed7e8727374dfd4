#include "runtime/http/host_names.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::host_names_test {

using namespace actorrun::detail;

TEST_CASE("http host names: numbers, localhost and the host's own name are its"
          " own",
          "[runtime]") {
  for (const auto* x :
       {"127.0.0.1", "127.0.0.1:8080", "10.0.0.5:80", "[::1]", "[::1]:8080",
        "localhost", "LocalHost:1", "localhost.", "node1", "node1:8080",
        "node1.example.org:8080", "NODE1.example.org."}) {
    INFO(x);
    CHECK(is_own_name(x, "node1.example.org"));
  }
}

TEST_CASE("http host names: a name that a foreign site has chosen is refused",
          "[runtime]") {
  for (const auto* x :
       {"", "evil.example", "evil.example:8080", "node1.evil.example",
        "127.0.0.1.evil.example", "localhost.evil.example", "localhost:x",
        "localhost:", "localhost:123456", "[::1", "[::1]x", "[::1]:", ".",
        "node", "node1.example.or", "a b"}) {
    INFO(x);
    CHECK_FALSE(is_own_name(x, "node1.example.org"));
  }
}

} // namespace actorrun::test::host_names_test
