#include "actors/core/stragglers/node_pace.hpp"

#include "actors/core/stragglers/median.hpp"

#include <algorithm>

namespace actorrun::core {

namespace {

constexpr auto look_interval = std::chrono::milliseconds{250};
constexpr auto idle_interval_min = duration{std::chrono::milliseconds{500}};
constexpr auto idle_interval_max = duration{std::chrono::seconds{16}};

/// Of the last steps of a window.
duration middle_of(const step_reading& x, uint64_t step_count) {
  const auto known = std::min<uint64_t>(step_count, x.newest.size());
  auto times = std::vector<duration>(
    x.newest.end() - static_cast<ptrdiff_t>(known), x.newest.end());
  return median_of(times);
}

bool differs(duration now, duration told) {
  const auto by = now < told ? told - now : now - told;
  return by * node_pace::change_part > told;
}

} // namespace

duration node_pace::interval() const {
  return workers_.empty() ? idle_interval_ : duration{look_interval};
}

void node_pace::begin(generation_id generation) {
  generation_ = generation;
  idle_interval_ = idle_interval_min;
  workers_.clear();
  told_.clear();
  told_at_.reset();
}

// A program that begins again, in the same process or as another, counts from 0.
void node_pace::see(worker& x, const step_reading& seen, time_point now) const {
  if (!x.begin || seen.step_count < x.begin->step_count) {
    x = {.begin = window_begin{seen.step_count, now},
         .last = {.step_count = seen.step_count}};
    return;
  }
  x.last.step_count = seen.step_count;
  const auto steps = seen.step_count - x.begin->step_count;
  const auto time = now - x.begin->when;
  if (steps < window_steps_min || time < window_time_min)
    return;
  x.last.compute = middle_of(seen, steps);
  x.last.step = time / static_cast<int64_t>(steps);
  x.windows.push_back(x.last.compute);
  if (x.windows.size() > limits_.windows)
    x.windows.pop_front();
  x.begin = window_begin{seen.step_count, now};
}

std::map<uint32_t, worker_pace> node_pace::paces() const {
  auto out = std::map<uint32_t, worker_pace>{};
  for (const auto& [rank, x] : workers_) {
    if (x.windows.size() < limits_.windows)
      continue;
    auto windows = std::vector<duration>(x.windows.begin(), x.windows.end());
    const auto least = std::ranges::min(windows);
    out.emplace(rank, worker_pace{rank, median_of(windows), least});
  }
  return out;
}

bool node_pace::has_changed(
  const std::map<uint32_t, worker_pace>& paces) const {
  return !std::ranges::equal(
    paces, told_, [](const auto& now, const auto& told) {
      return now.first == told.first
             && !differs(now.second.compute, told.second.compute)
             && !differs(now.second.least, told.second.least);
    });
}

std::optional<pace_report>
node_pace::step(const std::map<uint32_t, step_reading>& seen, time_point now) {
  if (!is_watching())
    return {};
  std::erase_if(workers_,
                [&](const auto& x) { return !seen.contains(x.first); });
  for (const auto& [rank, reading] : seen)
    see(workers_[rank], reading, now);
  if (workers_.empty())
    idle_interval_ = std::min(2 * idle_interval_, idle_interval_max);
  if (told_at_ && now - *told_at_ < window_time_min)
    return {};
  auto paces = this->paces();
  if (!has_changed(paces))
    return {};
  auto out = pace_report{generation_, {}, limits_};
  for (const auto& [rank, x] : paces)
    out.workers.push_back(x);
  told_ = std::move(paces);
  told_at_ = now;
  return out;
}

std::optional<worker_steps> node_pace::steps_of(uint32_t global_rank) const {
  const auto i = workers_.find(global_rank);
  return i == workers_.end() ? std::nullopt : std::optional{i->second.last};
}

} // namespace actorrun::core
