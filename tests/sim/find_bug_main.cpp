// Runs seeds until one breaks an invariant: `find_bug COUNT [FIRST]`. Exit code
// 1 and the seed if one does, 0 if none.

#include "tests/sim/run_seed.hpp"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  using namespace actorrun::sim;
  const auto count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  const auto first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  for (auto seed = first; seed < first + count; ++seed) {
    for (auto* roll : {roll_scenario, roll_harmless}) {
      if (const auto breach = run_seed(roll(seed), history::mode::off)) {
        std::printf("ACTORRUN_SIM_SEED=%llu%s %s\n",
                    static_cast<unsigned long long>(seed),
                    roll == roll_harmless ? " (harmless)" : "",
                    breach->c_str());
        return 1;
      }
    }
  }
  return 0;
}
