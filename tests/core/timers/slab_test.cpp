#include "actors/core/timers/slab.hpp"
#include "tests/support/catch.hpp"

#include <set>
#include <vector>

using namespace actorrun::core;

namespace {

struct record {
  uint32_t link = 0;
  int value = 0;
};

/// More records than one allocation has.
constexpr uint32_t many = 3'000;

struct fixture {
  std::vector<uint32_t> take(uint32_t count) {
    auto out = std::vector<uint32_t>{};
    for (uint32_t i = 0; i < count; ++i)
      out.push_back(uut.take());
    return out;
  }

  timer_slab<record> uut;
};

} // namespace

TEST_CASE_METHOD(fixture, "timer_slab: an empty one has no memory", "[core]") {
  CHECK(uut.capacity() == 0);
}

TEST_CASE_METHOD(fixture, "timer_slab: numbers count up from 0, without gaps",
                 "[core]") {
  const auto numbers = take(many);
  for (uint32_t i = 0; i < many; ++i)
    REQUIRE(numbers[i] == i);
  CHECK(uut.capacity() >= many);
}

TEST_CASE_METHOD(fixture, "timer_slab: a record in use has one user",
                 "[core]") {
  auto used = std::set<uint32_t>{};
  for (const auto number : take(many)) {
    uut[number].value = int(number) + 1;
    used.insert(number);
  }
  // Every third one is given back and taken again.
  for (uint32_t i = 0; i < many; i += 3) {
    uut.give_back(i);
    used.erase(i);
  }
  for (uint32_t i = 0; i < many; i += 3) {
    const auto number = uut.take();
    REQUIRE(used.insert(number).second);
    uut[number].value = int(number) + 1;
  }
  for (const auto number : used)
    REQUIRE(uut[number].value == int(number) + 1);
}

TEST_CASE_METHOD(fixture, "timer_slab: the last record given back is the next",
                 "[core]") {
  take(10);
  uut.give_back(3);
  uut.give_back(7);
  CHECK(uut.take() == 7);
  CHECK(uut.take() == 3);
  CHECK(uut.take() == 10);
}

TEST_CASE_METHOD(fixture, "timer_slab: a record holds what its user has left",
                 "[core]") {
  const auto number = uut.take();
  uut[number].value = 5;
  uut.give_back(number);
  REQUIRE(uut.take() == number);
  CHECK(uut[number].value == 5);
}

TEST_CASE_METHOD(fixture, "timer_slab: records do not move as it grows",
                 "[core]") {
  const auto first = uut.take();
  const auto* place = &uut[first];
  const auto before = uut.capacity();
  while (uut.capacity() < 4 * before)
    uut.take();
  CHECK(&uut[first] == place);
}

TEST_CASE_METHOD(fixture, "timer_slab: it grows only when all are in use",
                 "[core]") {
  uut.take();
  const auto room = uut.capacity();
  take(uint32_t(room) - 1);
  CHECK(uut.capacity() == room);
  uut.give_back(5);
  uut.take();
  CHECK(uut.capacity() == room);
  uut.take();
  CHECK(uut.capacity() > room);
}

TEST_CASE_METHOD(fixture, "timer_slab: a cleared one begins anew", "[core]") {
  for (const auto number : take(many))
    uut.give_back(number);
  uut.clear();
  CHECK(uut.capacity() == 0);
  CHECK(uut.take() == 0);
  CHECK(uut.take() == 1);
}
