// Runs the protocol under thousands of seeded histories. One seed, with its
// whole history: ACTORRUN_SIM_SEED=n sim_tests. Their number:
// ACTORRUN_SIM_SEEDS=n.

#include "tests/sim/run_seed.hpp"
#include "tests/support/catch.hpp"

#include <cstdlib>

namespace {

using namespace actorrun::sim;

/// Enough for some seconds.
constexpr auto seed_count = uint64_t{30'000};

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const auto* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void check_seeds(scenario (*roll)(uint64_t), uint64_t count) {
  const auto one = number_from("ACTORRUN_SIM_SEED", 0);
  if (one != 0) {
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

TEST_CASE("cluster: short faults do not cost an epoch", "[sim]") {
  check_seeds(roll_harmless, number_from("ACTORRUN_SIM_SEEDS", seed_count) / 4);
}
