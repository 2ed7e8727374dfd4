#include "actors/core/store/cost.hpp"
#include "actors/core/store/value.hpp"
#include "tests/support/catch.hpp"

#include <memory>
#include <string>
#include <utility>

namespace actorrun::test::value_test {

using namespace actorrun::core;

namespace {

std::shared_ptr<store_budget> budget_of(size_t max) {
  return std::make_shared<store_budget>(max);
}

} // namespace

TEST_CASE("store_budget: gives bytes while it has some, and takes them back",
          "[core]") {
  auto uut = store_budget{10};
  CHECK(!uut.take(11));
  CHECK(uut.take(10));
  CHECK(!uut.take(1));
  CHECK(uut.take(0));
  uut.give_back(4);
  CHECK(!uut.take(5));
  CHECK(uut.take(4));
  CHECK(!uut.take(SIZE_MAX));
  CHECK(uut.used() == 10);
  uut.give_back(10);
  CHECK(uut.used() == 0);
  CHECK(uut.most() == 10);
}

TEST_CASE("store_charge: counts for as long as it lives", "[core]") {
  const auto budget = budget_of(10);
  {
    auto uut = store_charge{budget};
    CHECK(uut.grow(6));
    CHECK(!uut.grow(5));
    CHECK(budget->used() == 6);
    uut.shrink(2);
    CHECK(budget->used() == 4);
    auto other = std::move(uut);
    CHECK(budget->used() == 4);
    auto third = store_charge{budget};
    CHECK(third.grow(6));
    third = std::move(other);
    CHECK(budget->used() == 4);
    third.reset();
    CHECK(budget->used() == 0);
    CHECK(third.grow(10));
  }
  CHECK(budget->used() == 0);
}

TEST_CASE("make_room: counts the room, and makes no more of it", "[core]") {
  const auto budget = budget_of(block_cost(101));
  auto charge = store_charge{budget};
  auto text = std::string{"text"};
  CHECK(make_room(text, 15, charge));
  CHECK(budget->used() == 0);
  CHECK(make_room(text, 60, charge));
  CHECK(budget->used() == block_cost(61));
  CHECK(make_room(text, 100, charge));
  CHECK(text == "text");
  CHECK(text.capacity() == 100); // Not twice the former.
  CHECK(budget->used() == block_cost(101));
  CHECK(!make_room(text, 120, charge));
  CHECK(text.capacity() == 100);
  CHECK(budget->used() == block_cost(101));
}

TEST_CASE("store_value: is created if the budget allows it", "[core]") {
  const auto few = std::string(20, 'x');
  const auto budget = budget_of(store_value::cost_of(few));
  CHECK(!store_value::make(budget, std::string(40, 'x')));
  CHECK(budget->used() == 0);
  const auto uut = store_value::make(budget, few);
  REQUIRE(uut);
  CHECK(uut->bytes() == few);
  CHECK(!store_value::make(budget, ""));
}

// 72 bytes are the pointer's counters, the text and its charge.
TEST_CASE("store_value: costs what malloc gives for it", "[core]") {
  CHECK(store_value::cost_of({}) == block_cost(72));
  CHECK(store_value::cost_of(std::string(15, 'x')) == block_cost(72));
  CHECK(store_value::cost_of(std::string(1'000, 'x'))
        == block_cost(72) + block_cost(1'001));
  auto roomy = std::string{"x"};
  roomy.reserve(500);
  CHECK(store_value::cost_of(roomy) == block_cost(72) + block_cost(501));
}

TEST_CASE("store_value: a copy shares the bytes and counts nothing", "[core]") {
  const auto budget = budget_of(1'000);
  auto uut = store_value::make(budget, "bytes");
  const auto before = budget->used();
  auto copy = uut;
  CHECK(copy->bytes().data() == uut->bytes().data());
  CHECK(budget->used() == before);
  uut.reset();
  CHECK(budget->used() == before);
  copy.reset();
  CHECK(budget->used() == 0);
}

TEST_CASE("store_value: appended bytes do not appear in older copies",
          "[core]") {
  const auto bytes = std::string(40, 'a');
  const auto cost = store_value::cost_of(bytes);
  const auto budget = budget_of(2 * cost);
  auto uut = *store_value::make(budget, bytes);
  {
    const auto older = uut;
    CHECK(budget->take(1));
    CHECK(!uut.append(budget, "b")); // No room for both.
    CHECK(uut.bytes() == bytes);
    budget->give_back(1);
    CHECK(uut.append(budget, "b"));
    CHECK(uut.bytes() == bytes + "b");
    CHECK(older.bytes() == bytes);
    CHECK(budget->used() == 2 * cost);
  }
  CHECK(budget->used() == cost);
}

TEST_CASE("store_value: bytes are appended where there is no copy", "[core]") {
  const auto budget = budget_of(2'500);
  auto uut = *store_value::make(budget, std::string(800, 'a'));
  CHECK(uut.append(budget, "b"));
  CHECK(uut.bytes() == std::string(800, 'a') + "b");
  // An eighth more, so that the next need not be copied.
  CHECK(budget->used() == block_cost(72) + block_cost(901));
  const auto* where = uut.bytes().data();
  CHECK(uut.append(budget, std::string(99, 'c')));
  CHECK(uut.bytes().data() == where);
  CHECK(budget->used() == block_cost(72) + block_cost(901));
  CHECK(!uut.append(budget, std::string(2'000, 'd')));
  CHECK(uut.bytes().size() == 900);
  CHECK(uut.append(budget, std::string(900, 'd')));
  CHECK(budget->used() == block_cost(72) + block_cost(1'801));
}

} // namespace actorrun::test::value_test
