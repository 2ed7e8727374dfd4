#include "actors/core/store/value.hpp"
#include "tests/support/catch.hpp"

#include <memory>
#include <string>
#include <utility>

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

TEST_CASE("store_value: is created if the budget allows it", "[core]") {
  const auto budget = budget_of(store_overhead + 3);
  CHECK(!store_value::make(budget, "four"));
  CHECK(budget->used() == 0);
  const auto uut = store_value::make(budget, "few");
  REQUIRE(uut);
  CHECK(uut->bytes() == "few");
  CHECK(!store_value::make(budget, ""));
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
  const auto budget = budget_of(2 * store_overhead + 8);
  auto uut = *store_value::make(budget, "ab");
  CHECK(uut.append(budget, "cd")); // No other copy exists.
  CHECK(budget->used() == store_overhead + 4);
  {
    const auto older = uut;
    CHECK(!uut.append(budget, "e")); // No room for both.
    CHECK(uut.bytes() == "abcd");
    CHECK(uut.append(budget, ""));
    CHECK(older.bytes() == "abcd");
    CHECK(older.bytes().data() != uut.bytes().data());
  }
  CHECK(budget->used() == store_overhead + 4);
  CHECK(!uut.append(budget, std::string(store_overhead + 5, 'x')));
  CHECK(uut.append(budget, std::string(store_overhead + 4, 'x')));
  CHECK(uut.bytes().substr(0, 5) == "abcdx");
}
