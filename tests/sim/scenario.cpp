#include "tests/sim/scenario.hpp"

#include "actors/core/failure_text.hpp"

namespace actorrun::sim {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;

core::timeouts roll_limits(dice& roll) {
  const auto ms = [&roll](uint64_t low, uint64_t high) {
    return milliseconds{roll.between(low, high)};
  };
  auto limits = core::timeouts{};
  limits.join = 5s;
  limits.quiet = ms(100, 400);
  limits.last_call = limits.quiet + ms(100, 1000);
  limits.join_settle = ms(50, 300);
  limits.rejoin_backoff = ms(50, 2000);
  limits.seek = 3s;
  limits.seek_is_given = true;
  limits.connect = ms(200, 800);
  limits.close = ms(500, 2000);
  limits.keep_alive_interval = ms(80, 120);
  limits.keep_alive_attempts = uint32_t(roll.between(3, 4));
  limits.fence_guard = ms(80, 150);
  return limits;
}

} // namespace

scenario roll_scenario(uint64_t seed) {
  auto roll = dice{seed};
  auto x = scenario{};
  x.seed = seed;
  x.limits = roll_limits(roll);
  x.agent_count = uint32_t(roll.between(1, roll.percent(70) ? 4 : 8));
  x.job.agent_count_max = uint32_t(roll.between(1, x.agent_count + 1));
  x.job.agent_count_min
    = uint32_t(roll.percent(40) ? x.job.agent_count_max
                                : roll.between(1, x.job.agent_count_max));
  x.job.ranked = roll.percent(15);
  if (x.job.ranked)
    x.job.agent_count_max = x.job.agent_count_min = x.agent_count;
  x.job.restart_count_max = uint32_t(roll.between(0, 4));
  x.grace = milliseconds{roll.between(50, 400)};
  x.slot_count_max = uint32_t(roll.between(1, 3));
  x.embedded = roll.percent(40);
  x.duplicates = roll.percent(15);
  x.message_delay_max = roll.percent(70) ? core::duration{1ms} : 15ms;
  x.start_delay_max = roll.percent(70) ? core::duration{500us} : 5ms;
  x.work = roll.between(core::duration{300ms}, core::duration{4s});
  x.fault_window = roll.between(core::duration{500ms}, core::duration{4s});
  x.fault_count = uint32_t(roll.between(0, 8));
  x.slow_stop_percent = roll.percent(50) ? 30 : 0;
  x.no_stop_percent = roll.percent(30) ? 20 : 0;
  x.trouble_max = 1500ms;
  x.stalled_start_percent = roll.percent(25) ? 20 : 0;
  x.start_stall_max = 2 * x.limits.lease();
  // Death signals do not wait for anything, but a process may take its time.
  x.orphan_delay_max = roll.percent(60) ? core::duration{2ms} : 100ms;
  x.no_warden_percent = roll.percent(50) ? 30 : 0;
  x.elected = roll.percent(25) && !x.job.ranked;
  x.registry_lease = roll.between(core::duration{800ms}, core::duration{3s});
  if (x.elected)
    x.limits.seek = 12s;
  x.restless = roll.percent(8) && !x.job.ranked;
  if (x.restless) {
    x.job.agent_count_max = x.agent_count + 1;
    x.job.agent_count_min = uint32_t(roll.between(1, x.agent_count));
    x.limits.rejoin_backoff = milliseconds{roll.between(100, 800)};
    x.limits.join_settle = milliseconds{roll.between(30, 80)};
    x.fault_count /= 2;
    x.fault_window = 4s;
    x.work = roll.between(core::duration{3s}, core::duration{5s});
  }
  x.role_percent = roll.percent(30) ? 40 : 0;
  // Times that are equal decide between `<` and `<=`.
  if (roll.percent(10))
    x.tick = roll.percent(50) ? 1ms : 10ms;
  // Without dice: what older seeds roll stays.
  x.rules.node_failures_are_free = seed % 2 == 0;
  x.keeps_list = seed % 3 == 0;
  x.rules.exclude_after = roll.percent(20) ? uint32_t(roll.between(1, 2)) : 0;
  // More failures than a list has room for.
  if (roll.percent(1))
    x.slot_count_max = 24;
  if (roll.percent(40))
    x.live_percent = roll.percent(60) ? 100 : 50;
  if (x.live_percent > 0 && roll.percent(60))
    x.step_max = roll.between(core::duration{20ms}, core::duration{300ms});
  if (x.step_max.count() > 0)
    x.work = std::max(x.work, core::duration{1s});
  x.limits.safe_point
    = milliseconds{roll.percent(20) ? 0 : roll.between(100, 1'000)};
  x.wavering
    = roll.percent(8) && x.agent_count > 1 && !x.job.ranked && !x.restless;
  if (x.wavering) {
    x.live_percent = 100;
    x.step_max = roll.between(core::duration{20ms}, core::duration{200ms});
    x.limits.safe_point = milliseconds{roll.between(300, 1'000)};
    x.job.agent_count_min = 1;
    x.job.agent_count_max = x.agent_count;
    x.fault_count /= 4;
    x.fault_window = 3s;
    x.work = std::max(x.work, core::duration{4s});
  }
  // A link that flaps costs its node its place.
  x.flapping = roll.percent(8) && x.agent_count > 2 && !x.job.ranked
               && !x.restless && !x.wavering;
  if (x.flapping) {
    x.job.agent_count_min = 1;
    x.job.agent_count_max = x.agent_count;
    x.limits.rejoin_backoff = milliseconds{roll.between(3'000, 8'000)};
    x.fault_count /= 4;
    x.fault_window = 4s;
    x.work = roll.between(core::duration{4s}, core::duration{8s});
  }
  if (x.tick.count() > 0) {
    for (auto* limit :
         {&x.limits.quiet, &x.limits.last_call, &x.limits.join_settle,
          &x.limits.rejoin_backoff, &x.limits.connect, &x.limits.close,
          &x.limits.keep_alive_interval, &x.limits.fence_guard, &x.grace,
          &x.limits.safe_point})
      *limit -= *limit % std::chrono::duration_cast<milliseconds>(x.tick);
    x.registry_lease -= x.registry_lease % x.tick;
  }
  if (x.elected)
    x.job.lease = x.limits.lease();
  x.has_journal = roll.percent(40) && !x.elected;
  if (!x.elected && roll.percent(40)) {
    x.other_limits = x.limits;
    x.other_limits->keep_alive_attempts += uint32_t(roll.between(3, 8));
    if (roll.percent(50)) // The later coordinators have the shorter one.
      std::swap(x.limits, *x.other_limits);
  }
  if (!x.has_journal && roll.percent(30))
    x.clocks_differ = roll.percent(50) ? 1s : 100h;
  // Not by the dice: histories without spares stay what they were.
  if (x.live_percent > 0 && seed % 3 == 0)
    x.spare_count = 1 + uint32_t(seed / 3 % 2);
  // Nor histories without voters.
  if (!x.elected && seed % 5 == 0)
    x.write_max = seed % 2 == 0 ? 2ms : 15ms;
  // Nor histories without rules.
  if (seed % 7 == 0) {
    x.rules.backoff_min = 150ms;
    x.rules.backoff_max = seed % 2 == 0 ? 150ms : 600ms;
  }
  using core::end_action;
  auto& actions = x.rules.actions;
  if (seed % 11 == 0)
    actions[size_t(core::end_class::program)] = end_action::stop;
  if (seed % 13 == 0)
    actions[size_t(core::end_class::unknown)] = end_action::exclude;
  if (seed % 26 == 0)
    actions[size_t(core::end_class::node)] = end_action::exclude;
  // Nor histories without GPUs that fail.
  x.gpu_faults = seed % 5 == 2;
  x.rules.on_gpu_fault = static_cast<core::gpu_fault_action>(seed / 5 % 3);
  return x;
}

scenario roll_harmless(uint64_t seed) {
  auto x = roll_scenario(seed);
  auto roll = dice{~seed};
  x.harmless = true;
  x.restless = false;
  x.wavering = false;
  x.flapping = false;
  x.elected = false;
  x.write_max = {};
  x.stalled_start_percent = 0;
  x.no_warden_percent = 0;
  if (x.other_limits)
    x.limits = std::exchange(x.other_limits, std::nullopt).value();
  x.job.agent_count_max = x.agent_count;
  x.job.agent_count_min
    = x.job.ranked ? x.agent_count : uint32_t(roll.between(1, x.agent_count));
  x.message_delay_max = 1ms;
  x.fault_window = 4s;
  x.work = 6s;
  x.fault_count = uint32_t(roll.between(1, 4));
  return x;
}

scenario roll_voting(uint64_t seed) {
  auto x = roll_scenario(seed);
  auto roll = dice{seed ^ 0x5eed};
  x.elected = x.voting = true;
  x.embedded = false;
  x.write_max = {};
  x.has_journal = false;
  x.other_limits.reset();
  x.clocks_differ = {};
  x.tick = {};
  x.job.ranked = false;
  x.agent_count = uint32_t(roll.between(1, 7));
  x.job.agent_count_max = x.agent_count + uint32_t(roll.between(0, 1));
  x.job.agent_count_min
    = uint32_t(roll.between(1, roll.percent(70) ? 1 : x.agent_count));
  if (roll.percent(50)) { // As the product has it: longer than an election.
    x.limits.keep_alive_interval = 60ms;
    x.limits.keep_alive_attempts = uint32_t(roll.between(15, 20));
    x.limits.fence_guard = 250ms;
  }
  x.limits.seek = 12s;
  x.job.lease = x.limits.lease();
  x.fault_count = uint32_t(roll.between(1, 8));
  x.fault_window = roll.between(core::duration{1s}, core::duration{5s});
  x.work = std::max(x.work, x.fault_window);
  return x;
}

scenario roll_quiet_voting(uint64_t seed) {
  auto x = roll_voting(seed);
  auto roll = dice{~seed};
  x.harmless = true;
  x.restless = x.wavering = x.flapping = false;
  x.stalled_start_percent = 0;
  x.no_warden_percent = 0;
  x.duplicates = false;
  x.message_delay_max = 1ms;
  x.limits.keep_alive_interval = 60ms;
  x.limits.keep_alive_attempts = 20;
  x.limits.fence_guard = 250ms;
  x.job.lease = x.limits.lease();
  x.is_leader_spare = roll.percent(50);
  x.agent_count = uint32_t(roll.between(x.is_leader_spare ? 4 : 3, 7));
  x.job.agent_count_max = x.agent_count - (x.is_leader_spare ? 1 : 0);
  x.job.agent_count_min
    = uint32_t(roll.between(1, uint64_t{x.job.agent_count_max} - 1));
  x.fault_window = 4s;
  x.fault_count = 1;
  x.work = 6s;
  return x;
}

scenario roll_shrinking(uint64_t seed) {
  auto x = roll_quiet_voting(seed);
  auto roll = dice{~seed};
  x.is_shrinking = true;
  x.job.restart_count_max = 0; // No loss of a node costs a restart.
  // Workers that live through a change may end while they wait: that costs one.
  x.live_percent = x.spare_count = 0;
  x.step_max = {};
  x.harmless = false;
  x.is_leader_spare = false;
  x.agent_count = uint32_t(roll.between(2, 7));
  x.job.agent_count_max = x.agent_count;
  x.job.agent_count_min = 1;
  x.fault_count = x.agent_count - 1;
  x.fault_window
    = 2s + x.fault_count * (2 * core::duration{x.limits.lease()} + 1s);
  x.work = x.fault_window + 1s;
  return x;
}

core::duration scenario::recovery_bound() const {
  constexpr auto retry = 1s; // Longest interval between attempts to connect.
  constexpr auto kill = 10ms;
  const auto find = retry + 2 * limits.connect + election_bound();
  // A lease, stretched by the longest pause; then a successor's recovery.
  const auto detect
    = 2 * lease_max() + trouble_max + 2 * limits.keep_alive_interval;
  // Before that, an overdue worker has a grace period of its own.
  const auto stop = 2 * (grace + kill_timeout) + kill;
  const auto gather = limits.last_call + limits.join_settle;
  // Where workers live, those of a newcomer start first.
  const auto ahead = live_percent > 0 ? work : core::duration{0};
  const auto admit
    = core::duration{limits.rejoin_backoff} + limits.safe_point + ahead;
  const auto stall
    = stalled_start_percent > 0 ? start_stall_max : core::duration{0};
  const auto start = 10 * start_delay_max + 10 * message_delay_max + stall;
  // An agent that comes back may find a generation that must end for it.
  return find + detect + core::hearsay_lag + 2 * (stop + gather + start) + admit
         + rules.backoff_max;
}

core::duration scenario::election_bound() const {
  constexpr auto search = 4s; // Until a candidate looks, and until others do.
  if (voting)
    return limits.lease() + search;
  return elected ? registry_lease + search : core::duration{0};
}

core::duration scenario::ending_bound() const {
  constexpr auto show = 4s; // Longest delay of a console.
  const auto once = recovery_bound() + limits.join + limits.seek + limits.close
                    + show + 2 * (work + recovery_bound());
  // Who was away when the job ended may elect itself, and begin anew.
  return elected ? 2 * once : once;
}

std::string to_string(const scenario& x) {
  const auto ms
    = [](core::duration d) { return std::to_string(d.count() / 1'000'000); };
  return "seed " + std::to_string(x.seed) + (x.harmless ? " (harmless)" : "")
         + ": " + std::to_string(x.agent_count) + " agents, "
         + core::to_string(x.job)
         + (x.voting     ? ", elects its coordinator"
            : x.elected  ? ", elected"
            : x.embedded ? ", embedded"
                         : "")
         + (x.duplicates ? ", duplicates" : "")
         + (x.live_percent > 0 ? ", live workers" : "")
         + (x.spare_count > 0 ? ", spares" : "")
         + (x.step_max.count() > 0 ? ", safe points" : "")
         + (x.gpu_faults ? ", bad GPUs" : "")
         + (x.has_journal ? ", journal" : "")
         + (x.write_max.count() > 0 ? ", voters" : "")
         + (x.other_limits ? ", or lease " + ms(x.other_limits->lease()) + " ms"
                           : "")
         + (x.clocks_differ.count() > 0 ? ", clocks differ" : "")
         + (x.tick.count() > 0 ? ", tick " + ms(x.tick) + " ms" : "")
         + ", fence " + ms(x.limits.fence()) + " ms, lease "
         + ms(x.limits.lease()) + " ms, grace " + ms(x.grace) + " ms, work "
         + ms(x.work) + " ms, faults until " + ms(x.fault_window) + " ms";
}

} // namespace actorrun::sim
