#include "actors/core/workers/worker_table.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace actorrun::core {

worker_table::worker_table(uint32_t slot_count, uint32_t spare_count,
                           const parked_workers& parked)
  : slot_count_(slot_count), records_(slot_count),
    parked_generation_(parked.generation) {
  assert(slot_count > 0);
  records_.resize(slot_count + spare_count, {.now = state::absent});
  for (const auto& [number, pid] : parked.pids)
    records_.at(number) = {.now = state::parked,
                           .pid = pid,
                           .is_live = true,
                           .has_stepped = parked.stepped.contains(number)};
}

worker_record& worker_table::operator[](uint32_t number) {
  assert(number < records_.size());
  return records_[number];
}

worker_table::numbers worker_table::workers_in(state x) const {
  return select(
    [&](auto i, const auto& y) { return !is_spare(i) && y.now == x; });
}

worker_table::numbers worker_table::all_in(state x, uint32_t first) const {
  return select([x](auto, const auto& y) { return y.now == x; }, first);
}

worker_table::numbers worker_table::under_way(uint32_t first) const {
  return select(
    [](auto, const auto& x) {
      return x.now == state::waiting || x.now == state::running;
    },
    first);
}

worker_table::numbers worker_table::live_workers() const {
  return select([this](auto i, const auto& x) {
    return !is_spare(i) && x.now == state::running && x.is_live;
  });
}

bool worker_table::none_runs() const {
  const auto end = records_.begin() + slot_count_;
  return std::all_of(records_.begin(), end, [](const auto& x) {
    return x.now == state::ended || x.now == state::parked
           || x.now == state::given_up;
  });
}

bool worker_table::have_stepped() const {
  return std::ranges::any_of(records_, &worker_record::has_stepped);
}

parked_workers worker_table::parked() const {
  auto out = parked_workers{.generation = parked_generation_};
  for (const auto i : all_in(state::parked)) {
    out.pids.emplace(i, records_[i].pid);
    if (records_[i].has_stepped)
      out.stepped.insert(i);
  }
  return out;
}

parked_share worker_table::share() const {
  return {parked_generation_, workers_in(state::parked),
          uint32_t(parked_spares().size())};
}

worker_table::numbers worker_table::move(numbers who, state to) {
  for (const auto i : who)
    records_[i].now = to;
  return who;
}

worker_table::numbers worker_table::resume(generation_id generation) {
  parked_generation_ = generation;
  return move(workers_in(state::parked), state::running);
}

std::map<uint32_t, uint32_t>
worker_table::seat_spares(const generation_plan& plan) {
  auto out = std::map<uint32_t, uint32_t>{};
  const auto parked = parked_spares();
  auto spare = parked.begin();
  for (const auto i : workers_in(state::waiting)) {
    if (plan.is_ahead || spare == parked.end()
        || contains(plan.survivors, plan.own.global_rank(i)))
      continue;
    records_[i] = std::exchange(records_[*spare], {.now = state::absent});
    out.emplace(i, *spare++);
  }
  return out;
}

worker_table::numbers worker_table::call_spares() {
  const auto are_wanted
    = records_.size() > slot_count_ && live_workers().size() == slot_count_;
  return are_wanted ? move(all_in(state::absent), state::waiting) : numbers{};
}

} // namespace actorrun::core
