// Runs the leadership in etcd under thousands of seeded histories.
// One seed: ACTORRUN_SIM_SEED=n sim_tests "leadership*".

#include "tests/sim/leadership_world.hpp"
#include "tests/sim/seed_choice.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::leadership_sim_test {

namespace {

using namespace actorrun::sim;
using namespace std::chrono_literals;
using actorrun::core::time_point;

constexpr auto seed_count = uint64_t{2'000};

uint32_t check(uint64_t seed) {
  auto world = leadership_world{seed, 2 + seed % 3};
  // A lease and some searches after the last fault all is well again.
  const auto breach = world.run(time_point{60s}, time_point{80s});
  INFO("ACTORRUN_SIM_SEED=" << seed << ": " << breach.value_or(""));
  CHECK(!breach);
  return world.reign_count();
}

} // namespace

TEST_CASE(
  "leadership: under all faults there are never two leaders, and in the "
  "end there is one",
  "[sim]") {
  constexpr auto all = uint64_t{0};
  if (const auto one = number_from("ACTORRUN_SIM_SEED", all); one != all) {
    check(one);
    return;
  }
  auto reigns = uint64_t{0};
  for (uint64_t seed = 1; seed <= seed_count; ++seed)
    reigns += check(seed);
  // The histories do include changes of the leader.
  CHECK(reigns > 3 * seed_count);
}

} // namespace actorrun::test::leadership_sim_test
