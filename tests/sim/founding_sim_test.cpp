// Runs beginnings of jobs with several seeds under thousands of seeded histories.
// One seed: ACTORRUN_SIM_SEED=n sim_tests "founding*".

#include "tests/sim/founding_world.hpp"
#include "tests/sim/seed_choice.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::founding_sim_test {

namespace {

using namespace actorrun::sim;
using kind = founding_world::kind;

constexpr auto founding_seed_count = uint64_t{1'500};

/// @returns jobs begun
uint64_t check_founding(uint64_t seed, kind what) {
  auto world = founding_world{seed, uint32_t(2 + seed % 4), what};
  const auto breach = world.run();
  INFO("ACTORRUN_SIM_SEED=" << seed << ": " << breach.value_or(""));
  CHECK(!breach);
  return world.job_count();
}

} // namespace

TEST_CASE("founding: newborns that are cut in halves never begin two jobs, and "
          "in the end all are in one",
          "[sim]") {
  const auto what = GENERATE(kind::cut_off, kind::forgetful);
  constexpr auto all = uint64_t{0};
  if (const auto one = number_from("ACTORRUN_SIM_SEED", all); one != all) {
    check_founding(one, what);
    return;
  }
  auto jobs = uint64_t{0};
  for (uint64_t seed = 1; seed <= founding_seed_count; ++seed)
    jobs += check_founding(seed, what);
  // Some are killed everywhere, and begin again.
  CHECK(jobs > founding_seed_count);
}

} // namespace actorrun::test::founding_sim_test
