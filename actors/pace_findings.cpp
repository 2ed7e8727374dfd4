#include "actors/pace_findings.hpp"

#include "actors/core/generation.hpp"

#include <algorithm>
#include <chrono>

namespace actorrun {

namespace {

/// Longer ones are no times of steps.
constexpr auto told_pace_max = core::duration{std::chrono::hours{24 * 7}};

core::duration pace_from_wire(uint64_t ns) {
  return core::duration{static_cast<int64_t>(
    std::min(ns, static_cast<uint64_t>(told_pace_max.count())))};
}

/// Longer ones would overflow in sums.
constexpr auto told_saves_max
  = core::duration{std::chrono::hours{24 * 365 * 50}};

core::duration saves_from_wire(uint64_t ns) {
  return core::duration{static_cast<int64_t>(
    std::min(ns, static_cast<uint64_t>(told_saves_max.count())))};
}

v1::StragglerAction action_to_wire(core::straggler_action x) {
  switch (x) {
    case core::straggler_action::report:
      return v1::STRAGGLER_REPORT;
    case core::straggler_action::check:
      return v1::STRAGGLER_CHECK;
    case core::straggler_action::drain:
      break;
  }
  return v1::STRAGGLER_DRAIN;
}

// What a later version has is only reported.
core::straggler_action action_from_wire(v1::StragglerAction x) {
  return x == v1::STRAGGLER_CHECK   ? core::straggler_action::check
         : x == v1::STRAGGLER_DRAIN ? core::straggler_action::drain
                                    : core::straggler_action::report;
}

} // namespace

v1::WorkerPaces to_wire(const core::pace_report& x) {
  auto out = v1::WorkerPaces{};
  out.set_generation(x.generation.value);
  for (const auto& worker : x.workers) {
    auto& entry = *out.add_workers();
    entry.set_rank(worker.global_rank);
    entry.set_compute_ns(static_cast<uint64_t>(worker.compute.count()));
    entry.set_least_ns(static_cast<uint64_t>(worker.least.count()));
  }
  out.set_distance(x.limits.distance);
  out.set_windows(x.limits.windows);
  out.set_action(action_to_wire(x.limits.action));
  return out;
}

core::pace_report from_wire(const v1::WorkerPaces& x) {
  auto out = core::pace_report{
    .generation = {x.generation()},
    .workers = {},
    .limits = {x.distance(), x.windows(), action_from_wire(x.action())}};
  for (const auto& worker : x.workers()) {
    if (out.workers.size() == core::slots_per_agent_max)
      break;
    out.workers.push_back({worker.rank(), pace_from_wire(worker.compute_ns()),
                           pace_from_wire(worker.least_ns())});
  }
  return out;
}

v1::WorkersSaved to_wire(const core::saves_report& x) {
  auto out = v1::WorkersSaved{};
  out.set_generation(x.generation.value);
  out.set_saving_ns(static_cast<uint64_t>(x.saving.count()));
  if (x.age)
    out.set_age_ns(static_cast<uint64_t>(x.age->count()));
  out.set_saving_since_ns(static_cast<uint64_t>(x.saving_since.count()));
  return out;
}

core::saves_report from_wire(const v1::WorkersSaved& x) {
  auto out
    = core::saves_report{.generation = {x.generation()},
                         .saving = saves_from_wire(x.saving_ns()),
                         .saving_since = saves_from_wire(x.saving_since_ns())};
  if (x.has_age_ns())
    out.age = saves_from_wire(x.age_ns());
  return out;
}

void add_steps(
  core::node_vitals& out,
  const std::function<std::optional<core::worker_steps>(uint32_t)>& of) {
  const auto known = [](core::duration x) {
    return x > core::duration{0}
             ? std::optional{std::chrono::ceil<std::chrono::microseconds>(x)}
             : std::nullopt;
  };
  for (auto& worker : out.workers)
    if (const auto x = of(worker.local_rank)) {
      worker.step_count = x->step_count;
      worker.compute = known(x->compute);
      worker.step_time = known(x->step);
    }
}

} // namespace actorrun
