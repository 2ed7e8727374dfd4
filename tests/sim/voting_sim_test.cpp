// Runs whole jobs whose agents elect the coordinator under seeded histories. One seed, with
// its whole history: ACTORRUN_SIM_SEED=n sim_tests "voting*". Their number:
// ACTORRUN_SIM_SEEDS=n.

#include "tests/sim/run_seed.hpp"
#include "tests/sim/seed_choice.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::voting_sim_test {

namespace {

using namespace actorrun::sim;

/// Enough for some seconds.
constexpr auto seed_count = uint64_t{600};

void check_seeds(scenario (*roll)(uint64_t), uint64_t count) {
  constexpr auto all = uint64_t{0};
  const auto one = number_from("ACTORRUN_SIM_SEED", all);
  if (one != all) {
    const auto breach = run_seed(roll(one), history::mode::everything);
    INFO(breach.value_or(""));
    CHECK(!breach);
    return;
  }
  for (uint64_t seed = 1; seed <= count; ++seed)
    if (const auto breach = run_seed(roll(seed), history::mode::off)) {
      FAIL_CHECK("ACTORRUN_SIM_SEED=" << seed << ": " << *breach << "\n"
                                      << trace_of(roll(seed)));
      return;
    }
  SUCCEED();
}

uint64_t count() {
  return number_from("ACTORRUN_SIM_SEEDS", seed_count);
}

} // namespace

TEST_CASE(
  "voting: a job whose agents elect its coordinator keeps the invariants "
  "under all faults",
  "[sim]") {
  check_seeds(roll_voting, count());
}

TEST_CASE("voting: one fault of a leader stops no worker elsewhere", "[sim]") {
  check_seeds(roll_quiet_voting, count() / 4);
}

TEST_CASE("voting: nodes may be lost one by one, down to one", "[sim]") {
  check_seeds(roll_shrinking, count() / 4);
}

} // namespace actorrun::test::voting_sim_test
