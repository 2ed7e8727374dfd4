#include "tests/sim/saving_workers.hpp"

#include <chrono>
#include <map>

namespace actorrun::sim {

namespace {

using namespace std::chrono_literals;

constexpr auto save_interval = core::duration{40ms};
constexpr auto save_time = core::duration{7ms};

bool is_one_of(uint32_t many, uint32_t rank, generation_id generation) {
  return (rank + generation.value) % many == 0;
}

} // namespace

void saving_workers::begin(const core::placement& own, generation_id generation,
                           core::time_point now) {
  own_ = own;
  generation_ = generation;
  begun_ = now;
  saves_.begin(generation, now);
  saves_.step({}, now);
}

std::optional<core::saves_report> saving_workers::look(core::time_point now) {
  auto seen = std::map<uint32_t, core::step_reading>{};
  for (uint32_t i = 0; i < own_.slot_count; ++i)
    if (const auto rank = own_.global_rank(i);
        rank == 0 || is_one_of(3, rank, generation_))
      seen.emplace(rank, page_of(rank, now));
  return saves_.step(seen, now);
}

// The save is at the end of each interval.
core::step_reading saving_workers::page_of(uint32_t rank,
                                           core::time_point now) const {
  const auto count = (now - begun_) / save_interval;
  const auto into = (now - begun_) % save_interval;
  auto out = core::step_reading{};
  auto& x = out.saves;
  x.save_count = static_cast<uint64_t>(count);
  x.saving = count * save_time;
  if (into > save_interval - save_time)
    x.saving_since = begun_ + (count + 1) * save_interval - save_time;
  if (count > 0) {
    x.saved_up_to = begun_ + count * save_interval - save_time;
    x.saving_before = (count - 1) * save_time;
  }
  if (is_one_of(5, rank, generation_)) {
    x.saving = core::duration{24h * 365};
    x.saved_up_to = now + 1h;
  }
  return out;
}

} // namespace actorrun::sim
