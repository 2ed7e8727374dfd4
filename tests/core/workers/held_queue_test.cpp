#include "actors/core/workers/held_queue.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using namespace actorrun::core;

namespace {

using queue = held_queue<std::string, int>;
using facts = std::vector<std::string>;

} // namespace

TEST_CASE("held_queue: an item that waits for nothing is ready", "[core]") {
  auto uut = queue{};
  CHECK(uut.empty());
  CHECK(uut.take_ready().empty());
  uut.push("a");
  uut.push("b");
  CHECK_FALSE(uut.empty());
  CHECK(uut.take_ready() == facts{"a", "b"});
  CHECK(uut.empty());
}

TEST_CASE("held_queue: no item overtakes a waiting one", "[core]") {
  auto uut = queue{};
  uut.push("a");
  uut.push("b", 1);
  uut.push("c");
  uut.push("d", 2);
  CHECK(uut.take_ready() == facts{"a"});
  uut.release(2);
  CHECK(uut.take_ready().empty());
  uut.release(1);
  CHECK(uut.take_ready() == facts{"b", "c", "d"});
}

TEST_CASE("held_queue: a key without a waiting item is ignored", "[core]") {
  auto uut = queue{};
  uut.release(1);
  uut.push("a", 1);
  uut.release(2);
  CHECK(uut.take_ready().empty());
  uut.release(1);
  uut.release(1);
  CHECK(uut.take_ready() == facts{"a"});
}

TEST_CASE("held_queue: one key may hold several items", "[core]") {
  auto uut = queue{};
  uut.push("a", 1);
  uut.push("b", 1);
  uut.release(1);
  CHECK(uut.take_ready() == facts{"a", "b"});
}

TEST_CASE("held_queue: once none waits all are released, in order", "[core]") {
  auto uut = queue{};
  uut.push("a", 1);
  uut.push("b");
  uut.push("c", 2);
  CHECK(uut.take_all() == facts{"a", "b", "c"});
  CHECK(uut.empty());
  uut.release(1); // Too late.
  CHECK(uut.take_ready().empty());
}
