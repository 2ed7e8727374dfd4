#include "actors/core/protocol/speakers.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::speakers_test {

using core::speakers;
using verdict = speakers<int>::verdict;

namespace {

const auto a = agent_id{"a"};
const auto b = agent_id{"b"};

} // namespace

TEST_CASE("speakers: only the actor that has joined speaks for an agent",
          "[core]") {
  auto uut = speakers<int>{};
  CHECK(uut.check(a, 1) == verdict::late);
  REQUIRE(uut.join(a, 1, false));
  REQUIRE(uut.join(b, 2, false));
  CHECK(uut.check(a, 1) == verdict::own);
  CHECK(uut.check(a, 2) == verdict::foreign);
  CHECK(uut.check(b, 2) == verdict::own);
  uut.forget(a);
  CHECK(uut.check(a, 1) == verdict::late);
  CHECK(uut.check(b, 2) == verdict::own);
}

TEST_CASE("speakers: another actor joins when the link is down, not before",
          "[core]") {
  auto uut = speakers<int>{};
  const auto link = uut.join(a, 1, false);
  REQUIRE(link);
  CHECK_FALSE(uut.join(a, 2, false));
  CHECK(uut.check(a, 1) == verdict::own);
  CHECK(uut.check(a, 2) == verdict::foreign);
  CHECK(uut.hang_up(a, *link));
  CHECK(uut.check(a, 1) == verdict::own); // What it sent before.
  CHECK(uut.join(a, 2, false));
  CHECK(uut.check(a, 1) == verdict::foreign);
  CHECK(uut.check(a, 2) == verdict::own);
}

TEST_CASE("speakers: the end of an older link is no news", "[core]") {
  auto uut = speakers<int>{};
  const auto first = uut.join(a, 1, false);
  const auto second = uut.join(a, 1, false);
  REQUIRE((first && second));
  CHECK_FALSE(uut.hang_up(a, *first));
  CHECK_FALSE(uut.join(a, 2, false)); // The second is up.
  CHECK(uut.hang_up(a, *second));
  CHECK_FALSE(uut.hang_up(a, *second));
  CHECK_FALSE(uut.hang_up(b, *second));
}

TEST_CASE("speakers: an agent that was forgotten begins anew", "[core]") {
  auto uut = speakers<int>{};
  const auto first = uut.join(a, 1, false);
  uut.forget(a);
  const auto second = uut.join(a, 2, false);
  REQUIRE((first && second));
  CHECK_FALSE(uut.hang_up(a, *first));
  CHECK(uut.hang_up(a, *second));
}

TEST_CASE("speakers: a new link takes the place of the last one, and of no "
          "actor without a link",
          "[core]") {
  auto uut = speakers<int>{};
  const auto first = uut.join(a, 1, true);
  const auto second = uut.join(a, 2, true);
  REQUIRE((first && second));
  CHECK(uut.check(a, 1) == verdict::foreign);
  CHECK(uut.check(a, 2) == verdict::own);
  CHECK_FALSE(uut.hang_up(a, *first));
  CHECK_FALSE(uut.join(a, 3, false));
  CHECK(uut.hang_up(a, *second));
  REQUIRE(uut.join(a, 3, false));
  CHECK_FALSE(uut.join(a, 4, true));
}

} // namespace actorrun::test::speakers_test
