#include "actors/core/protocol/rendezvous.hpp"
#include "tests/bench/parts/parts.hpp"

#include <malloc.h>

namespace actorrun::bench::join_part {

namespace {

using namespace actorrun::core;

constexpr uint32_t agent_count = 10'000;

/// The first and the last joins are compared: the cost of a join must not grow.
constexpr uint32_t sample_count = 1'000;

/// In milliseconds.
constexpr double ranks_max = 1'000;
constexpr double bytes_per_agent_max = 2'048;

/// Slots of a node with eight GPUs.
constexpr uint32_t slot_count = 8;

agent_joined join_of(uint32_t index, const job_settings& settings) {
  const auto host = "node-" + std::to_string(index) + ".cluster.example";
  auto x = agent_joined{};
  x.offering.agent = {host + "-" + std::to_string(index) + "-0123abcd"};
  x.offering.host = host;
  x.offering.address
    = "10.0." + std::to_string(index / 256) + "." + std::to_string(index % 256);
  x.offering.slot_count = slot_count;
  x.offering.master_port = 30'000;
  x.settings = settings;
  return x;
}

std::vector<agent_joined> all_joins(const job_settings& settings) {
  auto result = std::vector<agent_joined>{};
  result.reserve(agent_count);
  for (uint32_t i = 0; i < agent_count; ++i)
    result.push_back(join_of(i, settings));
  return result;
}

/// @returns microseconds of processor time, as the machine may be busy
double processor_time() {
  auto time = timespec{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e6 + double(time.tv_nsec) / 1e3;
}

struct lines {
  row ranks{.what = "10,000 agents join: ranks after",
            .unit = "ms",
            .goal = "≤ 1000 ms"};
  row join{.what = "  a join among the last 1,000 (limit: first)",
           .unit = "µs",
           .goal = "O(1)"};
  row memory{
    .what = "  memory of each agent", .unit = "bytes", .goal = "≤ 2048 bytes"};
};

size_t plan_count(const std::vector<rendezvous_effect>& effects) {
  for (const auto& x : effects)
    if (const auto* generation = std::get_if<announce_generation>(&x))
      return generation->plans.size();
  return 0;
}

measured join_all(lines& x) {
  const auto settings = job_settings{agent_count, agent_count, 0};
  const auto joins = all_joins(settings);
  const auto used = ::mallinfo2().uordblks;
  auto now = time_point{};
  auto uut = rendezvous{settings, timeouts{}};
  const auto begin = processor_time();
  auto first_samples = begin;
  auto last_samples = begin;
  auto formed = size_t{0};
  for (uint32_t i = 0; i < agent_count; ++i) {
    // The last join forms the generation, which is not the cost of a join.
    if (i == agent_count - 1)
      x.join.ours.add((processor_time() - last_samples) / sample_count);
    formed = plan_count(uut.step(joins[i], now));
    now += std::chrono::microseconds{100};
    if (i + 1 == sample_count)
      first_samples = processor_time();
    if (i + 1 == agent_count - 1 - sample_count)
      last_samples = processor_time();
  }
  x.ranks.ours.add((processor_time() - begin) / 1e3);
  x.join.limit.add((first_samples - begin) / sample_count);
  x.memory.ours.add(double(::mallinfo2().uordblks - used) / agent_count);
  if (formed != agent_count)
    return unmeasured("the generation has " + std::to_string(formed)
                      + " agents");
  return {};
}

} // namespace

measured measure(setting& s) {
  auto x = lines{};
  for (size_t i = 0; i < s.repetitions(); ++i)
    if (const auto done = join_all(x); !done)
      return done;
  x.ranks.met = x.ranks.ours.median() <= ranks_max;
  x.memory.met = x.memory.ours.median() <= bytes_per_agent_max;
  for (const auto* line : {&x.ranks, &x.join, &x.memory})
    print(*line);
  return {};
}

} // namespace actorrun::bench::join_part
