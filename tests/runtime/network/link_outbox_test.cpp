#include "runtime/network/link_outbox.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::link_outbox_test {

using namespace actorrun::detail;

TEST_CASE("link_outbox: the reader is told once until it takes", "[runtime]") {
  auto uut = link_outbox{};
  auto count = 0;
  uut.write("a");
  uut.on_change([&] { ++count; });
  CHECK(count == 1);
  uut.write("b");
  CHECK(count == 1);
  CHECK(uut.take() == "ab");
  uut.write("c");
  CHECK(count == 2);
}

TEST_CASE("link_outbox: what was written before the end still leaves",
          "[runtime]") {
  auto uut = link_outbox{};
  uut.write("a");
  uut.end();
  uut.write("b");
  CHECK_FALSE(uut.is_over());
  CHECK(uut.take() == "a");
  CHECK(uut.is_over());
}

TEST_CASE("link_outbox: a peer that does not read loses its link",
          "[runtime]") {
  auto uut = link_outbox{};
  auto count = 0;
  uut.on_change([&] { ++count; });
  uut.write(std::string(link_outbox_max, 'x'));
  CHECK_FALSE(uut.is_over());
  uut.take();
  uut.write(std::string(link_outbox_max, 'x'));
  uut.write("x");
  CHECK(uut.is_over());
  CHECK(uut.take().empty());
  CHECK(count == 2);
}

} // namespace actorrun::test::link_outbox_test
