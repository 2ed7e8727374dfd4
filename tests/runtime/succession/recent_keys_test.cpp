#include "runtime/succession/recent_keys.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::recent_keys_test {

using namespace actorrun::detail;

TEST_CASE("recent_keys: beyond its limit the one kept first is forgotten",
          "[runtime]") {
  auto uut = recent_keys{2};
  CHECK_FALSE(uut.find("a"));
  uut.keep("a", {1});
  uut.keep("b", {2});
  uut.keep("a", {3}); // Its next link.
  uut.keep("c", {4});
  CHECK(uut.find("a") == resumption_key{3});
  CHECK_FALSE(uut.find("b"));
  CHECK(uut.find("c") == resumption_key{4});
}

} // namespace actorrun::test::recent_keys_test
