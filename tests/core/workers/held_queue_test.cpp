#include "actors/core/workers/held_queue.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

namespace actorrun::test::held_queue_test {

using namespace actorrun::core;

namespace {

using queue = held_queue<std::string, int>;
using facts = std::vector<std::string>;

facts ready(queue& from) {
  auto out = facts{};
  while (from.front() != nullptr)
    out.push_back(from.pop());
  return out;
}

} // namespace

TEST_CASE("held_queue: an item that waits for nothing is ready", "[core]") {
  auto uut = queue{};
  CHECK(uut.empty());
  CHECK(ready(uut).empty());
  uut.push("a");
  uut.push("b");
  CHECK_FALSE(uut.empty());
  CHECK(ready(uut) == facts{"a", "b"});
  CHECK(uut.empty());
}

TEST_CASE("held_queue: no item overtakes a waiting one", "[core]") {
  auto uut = queue{};
  uut.push("a");
  uut.push("b", 1);
  uut.push("c");
  uut.push("d", 2);
  CHECK(ready(uut) == facts{"a"});
  uut.release(2);
  CHECK(ready(uut).empty());
  uut.release(1);
  CHECK(ready(uut) == facts{"b", "c", "d"});
}

TEST_CASE("held_queue: a key without a waiting item is ignored", "[core]") {
  auto uut = queue{};
  CHECK(uut.release(1) == 0);
  uut.push("a", 1);
  CHECK(uut.release(2) == 0);
  CHECK(ready(uut).empty());
  CHECK(uut.release(1) == 1);
  CHECK(uut.release(1) == 0);
  CHECK(ready(uut) == facts{"a"});
}

TEST_CASE("held_queue: one key may hold several items", "[core]") {
  auto uut = queue{};
  uut.push("a", 1);
  uut.push("b", 1);
  uut.release(1);
  CHECK(ready(uut) == facts{"a", "b"});
}

TEST_CASE("held_queue: keys of a kind are released together", "[core]") {
  auto uut = queue{};
  uut.push("a", 1);
  uut.push("b");
  uut.push("c", 2);
  uut.push("d", 13);
  CHECK(uut.release_if([](int x) { return x < 10; }) == 2);
  CHECK(ready(uut) == facts{"a", "b", "c"});
  CHECK(uut.release(13) == 1);
  CHECK(ready(uut) == facts{"d"});
  CHECK(uut.empty());
}

TEST_CASE("held_queue: the first can be held again", "[core]") {
  auto uut = queue{};
  uut.push("a", 1);
  uut.push("b", 1);
  uut.release(1);
  uut.hold(2);
  CHECK(uut.front() == nullptr);
  uut.release(1); // Not what it waits for now.
  CHECK(ready(uut).empty());
  uut.release(2);
  CHECK(ready(uut) == facts{"a", "b"});
}

} // namespace actorrun::test::held_queue_test
