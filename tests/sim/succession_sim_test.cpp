// Runs elections among agents under thousands of seeded histories, and each loss of a
// leader by itself.
// One seed: ACTORRUN_SIM_SEED=n sim_tests "succession*".

#include "tests/sim/seed_choice.hpp"
#include "tests/sim/succession_world.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::succession_sim_test {

namespace {

using namespace actorrun::sim;
using namespace std::chrono_literals;
using actorrun::core::duration;
using fault = succession_world::fault;

constexpr auto seed_count = uint64_t{3'000};
constexpr auto host_count_max = uint64_t{7};

struct tally {
  uint64_t reigns = 0;
  uint64_t lost = 0;
  uint64_t ordered = 0;
};

void check(uint64_t seed, tally& sum) {
  auto world = succession_world{seed, uint32_t(1 + seed % host_count_max)};
  const auto breach = world.run();
  INFO("ACTORRUN_SIM_SEED=" << seed << ": " << breach.value_or(""));
  CHECK(!breach);
  sum.reigns += world.reign_count();
  sum.lost += world.was_lost();
  sum.ordered += world.was_ordered();
}

/// A leader without workers suffers this, and no worker of the others notices.
void check_unnoticed(fault what, duration length) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    auto world = succession_world{seed, uint32_t(4 + seed % 4)};
    const auto breach = world.run_once(what, length, true);
    INFO("seed " << seed << ": " << breach.value_or(""));
    CHECK(!breach);
    CHECK(world.fenced_count() == 0);
    CHECK(world.newest_generation() == 1);
    CHECK(world.running_count() >= uint32_t(3 + seed % 4));
    CHECK(world.leader() != nullptr);
    CHECK((what == fault::none || world.reign_count() == 2));
  }
}

} // namespace

TEST_CASE(
  "succession: under all faults there are never two leaders, nothing that "
  "is written is missed, and a majority finds a leader",
  "[sim]") {
  auto sum = tally{};
  constexpr auto all = uint64_t{0};
  if (const auto one = number_from("ACTORRUN_SIM_SEED", all); one != all) {
    check(one, sum);
    return;
  }
  for (uint64_t seed = 1; seed <= seed_count; ++seed)
    check(seed, sum);
  // The histories do include changes of the leader, and few end without a majority.
  CHECK(sum.reigns > 2 * seed_count);
  CHECK(sum.lost < seed_count / 5);
  // In most of these an agent is left that an operator can have lead.
  CHECK(sum.ordered > seed_count / 50);
}

// S7, one by one.

TEST_CASE("succession: without a fault one leader stays", "[sim]") {
  check_unnoticed(fault::none, {});
}

TEST_CASE("succession: no worker notices that a leader without workers dies",
          "[sim]") {
  check_unnoticed(fault::kill, {});
}

TEST_CASE("succession: no worker notices that the host of a leader without "
          "workers vanishes",
          "[sim]") {
  check_unnoticed(fault::lose_host, {});
}

TEST_CASE(
  "succession: no worker notices that a leader without workers hands over",
  "[sim]") {
  check_unnoticed(fault::hand_over, {});
}

TEST_CASE("succession: no worker notices that a leader without workers stands "
          "still for up to half a fence",
          "[sim]") {
  check_unnoticed(fault::pause, 450ms);
}

TEST_CASE(
  "succession: no worker notices that the coordinator of a leader hangs",
  "[sim]") {
  check_unnoticed(fault::hang, 800ms);
}

TEST_CASE("succession: a leader with workers costs one generation", "[sim]") {
  const auto what = GENERATE(fault::kill, fault::lose_host);
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    auto world = succession_world{seed, uint32_t(3 + seed % 5)};
    const auto breach = world.run_once(what, {}, false);
    INFO("seed " << seed << ": " << breach.value_or(""));
    CHECK(!breach);
    CHECK(world.newest_generation() == 2);
    CHECK(world.running_count() == world.alive_count());
    CHECK(world.reign_count() == 2);
  }
}

TEST_CASE("succession: nodes may vanish one by one, and the last one by proof",
          "[sim]") {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    auto world = succession_world{seed, 7};
    // Of the last two, one is the only voter: it must be the one that stays, or its
    // machine must prove its end.
    for (auto left = 7U; left > 1; --left) {
      const auto breach
        = world.run_once(left > 2 ? fault::lose_host : fault::kill, {}, false);
      INFO("seed " << seed << ", " << left
                   << " hosts: " << breach.value_or(""));
      REQUIRE(!breach);
      REQUIRE(world.leader() != nullptr);
      CHECK(world.alive_count() == left - 1);
      CHECK(world.running_count() == left - 1);
    }
  }
}

} // namespace actorrun::test::succession_sim_test
