// Runs seeds until one breaks an invariant: `find_bug COUNT [FIRST [WORLD]]`. The last
// word names one kind of histories alone: `elections` among agents, `voters`, whole
// jobs whose agents elect, or `foundings` at several seeds. Exit code 1 and the seed if one does, 0 if none.

#include "tests/sim/founding_world.hpp"
#include "tests/sim/leadership_world.hpp"
#include "tests/sim/run_seed.hpp"
#include "tests/sim/succession_world.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace {

using namespace actorrun::sim;

/// A history of etcd's leadership takes as long as this many of a job, …
constexpr auto seeds_per_leadership = 16;

std::optional<std::string> lead(uint64_t seed) {
  using namespace std::chrono_literals;
  auto world = leadership_world{seed, 2 + seed % 3};
  return world.run(actorrun::core::time_point{60s},
                   actorrun::core::time_point{80s});
}

/// … and one of elections among agents as long as some.
constexpr auto seeds_per_election = 4;

/// … and of beginnings, of each kind …
constexpr auto seeds_per_founding = 2;

/// … and one of a job whose agents elect, of each kind.
constexpr auto seeds_per_vote = 8;

std::optional<std::string> elect(uint64_t seed) {
  return succession_world{seed, uint32_t(1 + seed % 7)}.run();
}

int tell(uint64_t seed, const char* world, const std::string& breach) {
  std::printf("ACTORRUN_SIM_SEED=%llu%s %s\n",
              static_cast<unsigned long long>(seed), world, breach.c_str());
  return 1;
}

int hold_elections(uint64_t first, uint64_t count) {
  for (auto seed = first; seed < first + count; ++seed)
    if (const auto breach = elect(seed))
      return tell(seed, " (elections)", *breach);
  return 0;
}

std::optional<std::string> vote(uint64_t seed) {
  for (auto* roll : {roll_voting, roll_quiet_voting, roll_shrinking})
    if (const auto breach = run_seed(roll(seed), history::mode::off))
      return (roll == roll_quiet_voting ? "(quiet) "
              : roll == roll_shrinking  ? "(shrinking) "
                                        : "")
             + *breach;
  return std::nullopt;
}

int hold_votes(uint64_t first, uint64_t count) {
  for (auto seed = first; seed < first + count; ++seed)
    if (const auto breach = vote(seed))
      return tell(seed, " (voters)", *breach);
  return 0;
}

std::optional<std::string> found(uint64_t seed) {
  using kind = founding_world::kind;
  for (const auto what : {kind::cut_off, kind::forgetful})
    if (const auto breach
        = founding_world{seed, uint32_t(2 + seed % 4), what}.run())
      return breach;
  return std::nullopt;
}

int hold_foundings(uint64_t first, uint64_t count) {
  for (auto seed = first; seed < first + count; ++seed)
    if (const auto breach = found(seed))
      return tell(seed, " (foundings)", *breach);
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const auto count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1000;
  const auto first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  const auto world = std::string_view{argc > 3 ? argv[3] : ""};
  if (world == "elections")
    return hold_elections(first, count);
  if (world == "voters")
    return hold_votes(first, count);
  if (world == "foundings")
    return hold_foundings(first, count);
  for (auto seed = first; seed < first + count; ++seed) {
    if (seed % seeds_per_election == 0)
      if (const auto breach = elect(seed))
        return tell(seed, " (elections)", *breach);
    if (seed % seeds_per_leadership == 0)
      if (const auto breach = lead(seed))
        return tell(seed, " (leadership)", *breach);
    if (seed % seeds_per_founding == 0)
      if (const auto breach = found(seed))
        return tell(seed, " (foundings)", *breach);
    if (seed % seeds_per_vote == 0)
      if (const auto breach = vote(seed))
        return tell(seed, " (voters)", *breach);
    for (auto* roll : {roll_scenario, roll_harmless})
      if (const auto breach = run_seed(roll(seed), history::mode::off))
        return tell(seed, roll == roll_harmless ? " (harmless)" : "", *breach);
  }
  return 0;
}
