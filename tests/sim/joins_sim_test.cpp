// Ten thousand agents at one rendezvous: counts the work, not the time.

#include "actors/core/protocol/rendezvous.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::joins_sim_test {

namespace {

using namespace std::chrono_literals;

constexpr uint32_t agent_count = 10'000;

core::agent_joined join(uint32_t i, const core::job_settings& settings) {
  const auto name = "node" + std::to_string(i);
  return {{.agent = {name},
           .host = name,
           .address = name,
           .role = "default",
           .slot_count = 8,
           .master_port = 29'500,
           .leased = true},
          settings,
          {}};
}

template <class Effect>
size_t count(const std::vector<core::rendezvous_effect>& effects) {
  auto n = size_t{0};
  for (const auto& x : effects)
    n += std::holds_alternative<Effect>(x) ? 1 : 0;
  return n;
}

} // namespace

TEST_CASE("rendezvous: ten thousand agents join one by one", "[sim]") {
  const auto settings = core::job_settings{agent_count, agent_count, 3};
  auto uut = core::rendezvous{settings, core::timeouts{}};
  auto now = core::time_point{};
  uut.step(core::coordinator_started{}, now);
  auto timers = size_t{0};
  for (uint32_t i = 1; i < agent_count; ++i) {
    const auto effects = uut.step(join(i, settings), now += 10us);
    timers += count<core::arm_timer>(effects);
    // An answer, and at most the first timers of lease and rendezvous.
    CHECK(count<core::accept_agent>(effects) == 1);
    CHECK(effects.size() <= 3);
  }
  // Timers do not grow with the number of agents.
  CHECK(timers == 2);
  CHECK(uut.current_phase() == core::rendezvous::phase::gathering);

  const auto effects = uut.step(join(0, settings), now += 10us);
  REQUIRE(count<core::announce_generation>(effects) == 1);
  for (const auto& x : effects)
    if (const auto* generation = std::get_if<core::announce_generation>(&x)) {
      REQUIRE(generation->plans.size() == agent_count);
      CHECK(generation->plans.front().own.agent.value == "node0");
      CHECK(generation->plans[9'999].own.agent.value == "node9999");
      CHECK(generation->plans[9'999].own.first_global_rank == 8 * 9'999);
      CHECK(generation->plans.back().world_size == 8 * agent_count);
    }
}

TEST_CASE("rendezvous: ten thousand keep-alives have no effect", "[sim]") {
  const auto settings = core::job_settings{agent_count, agent_count, 3};
  auto uut = core::rendezvous{settings, core::timeouts{}};
  auto now = core::time_point{};
  auto renewals = std::vector<core::renewal>{};
  for (uint32_t i = 0; i < agent_count; ++i)
    uut.step(join(i, settings), now);
  for (uint32_t i = 0; i < agent_count; ++i) {
    const auto agent = agent_id{"node" + std::to_string(i)};
    renewals.push_back({agent, now += 10us});
    CHECK(uut.step(core::workers_started{agent, {1}}, now).empty());
  }
  CHECK(uut.step(core::leases_renewed{renewals}, now).empty());
  CHECK(uut.current_phase() == core::rendezvous::phase::running);
}

} // namespace actorrun::test::joins_sim_test
