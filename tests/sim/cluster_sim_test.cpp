// Runs the protocol under thousands of seeded histories. One seed, with its
// whole history: ACTORRUN_SIM_SEED=n sim_tests. Their number:
// ACTORRUN_SIM_SEEDS=n.

#include "tests/sim/run_seed.hpp"
#include "tests/sim/seed_choice.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::cluster_sim_test {

namespace {

using namespace actorrun::sim;

/// Enough for some seconds.
constexpr auto seed_count = uint64_t{30'000};

void check_seeds(scenario (*roll)(uint64_t), uint64_t count) {
  constexpr auto all = uint64_t{0};
  const auto one = number_from("ACTORRUN_SIM_SEED", all);
  if (one != all) {
    const auto breach = run_seed(roll(one), history::mode::everything);
    INFO(breach.value_or(""));
    CHECK(!breach);
    return;
  }
  for (uint64_t seed = 1; seed <= count; ++seed) {
    if (const auto breach = run_seed(roll(seed), history::mode::off)) {
      FAIL_CHECK("ACTORRUN_SIM_SEED=" << seed << ": " << *breach << "\n"
                                      << trace_of(roll(seed)));
      return;
    }
  }
  SUCCEED();
}

} // namespace

TEST_CASE("cluster: the invariants hold under all faults", "[sim]") {
  check_seeds(roll_scenario, number_from("ACTORRUN_SIM_SEEDS", seed_count));
}

TEST_CASE("cluster: short faults do not cost a generation", "[sim]") {
  check_seeds(roll_harmless, number_from("ACTORRUN_SIM_SEEDS", seed_count) / 4);
}

} // namespace actorrun::test::cluster_sim_test
