#include "actors/core/timers/index.hpp"
#include "tests/support/catch.hpp"

#include <map>
#include <random>
#include <set>

using namespace actorrun::core;

namespace {

/// An index over records that are known by number and hash.
struct records {
  timer_index uut;
  std::map<uint32_t, uint32_t> hashes; ///< By number.

  auto hash_of() const {
    return [this](uint32_t number) { return hashes.at(number); };
  }

  void insert(uint32_t number, uint32_t hash) {
    hashes[number] = hash;
    uut.insert(number, hash_of());
  }

  void erase(uint32_t number) {
    uut.erase(number, hash_of());
    hashes.erase(number);
  }

  /// Looks for a record whose hash is known.
  uint32_t find(uint32_t number, uint32_t hash) const {
    return uut.find(hash, [number](uint32_t x) { return x == number; });
  }

  bool holds_all() const {
    auto seen = std::set<uint32_t>{};
    uut.each([&](uint32_t x) { seen.insert(x); });
    for (const auto& [number, hash] : hashes)
      if (find(number, hash) != number || !seen.contains(number))
        return false;
    return seen.size() == hashes.size() && uut.size() == hashes.size();
  }
};

} // namespace

TEST_CASE("timer_index: an empty one finds nothing", "[core]") {
  const auto x = records{};
  CHECK(x.find(1, 1) == timer_index::none);
  CHECK(x.uut.size() == 0);
}

TEST_CASE("timer_index: records with the same hash are distinguished",
          "[core]") {
  auto x = records{};
  for (auto i = 0u; i < 5; ++i)
    x.insert(i, 7);
  CHECK(x.holds_all());
  CHECK(x.find(5, 7) == timer_index::none);
  x.erase(2);
  CHECK(x.find(2, 7) == timer_index::none);
  CHECK(x.holds_all());
}

TEST_CASE("timer_index: it grows when three of four cells are used", "[core]") {
  auto x = records{};
  for (auto i = 0u; i < 1'000; ++i) {
    x.insert(i, i * 64); // All want the same cell of the smallest table.
    REQUIRE(x.find(i, i * 64) == i);
  }
  CHECK(x.holds_all());
}

TEST_CASE("timer_index: records that wrap around the end are found when others "
          "are erased",
          "[core]") {
  auto x = records{};
  for (auto i = 0u; i < 4; ++i)
    x.insert(i, 62); // The cells 62, 63, 0 and 1 of 64.
  x.insert(4, 0);
  x.insert(5, 63);
  for (const auto gone : {0u, 3u, 1u}) {
    x.erase(gone);
    CHECK(x.holds_all());
  }
}

TEST_CASE("timer_index: after clearing it is empty and usable", "[core]") {
  auto x = records{};
  x.insert(1, 1);
  x.uut.clear();
  CHECK(x.uut.size() == 0);
  CHECK(x.find(1, 1) == timer_index::none);
  x.hashes.clear();
  x.insert(2, 1);
  CHECK(x.holds_all());
}

TEST_CASE("timer_index: agrees with a map", "[core]") {
  auto random = std::mt19937{20'261'121};
  auto x = records{};
  for (auto round = 0; round < 20'000; ++round) {
    const auto number = random() % 200;
    if (!x.hashes.contains(number))
      x.insert(number, random() % 96); // Many collide.
    else if (random() % 2 == 0)
      x.erase(number);
    if (round % 100 == 0)
      REQUIRE(x.holds_all());
  }
  CHECK(x.holds_all());
}
