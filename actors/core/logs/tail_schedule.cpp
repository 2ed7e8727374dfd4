#include "actors/core/logs/tail_schedule.hpp"

#include <algorithm>
#include <cassert>

namespace actorrun::core {

void tail_schedule::add(stream_id id, std::optional<time_point> due) {
  const auto [i, is_new] = entries_.try_emplace(id);
  assert(is_new);
  if (due)
    wait(id, i->second, on_grid(*due));
  else
    make_ready(id, i->second);
}

void tail_schedule::remove(stream_id id) {
  const auto i = entries_.find(id);
  if (i == entries_.end())
    return;
  forget_due(id, i->second);
  entries_.erase(i);
  std::erase(ready_, id);
  std::erase(urgent_, id);
}

void tail_schedule::wake(stream_id id) {
  const auto i = entries_.find(id);
  if (i != entries_.end() && i->second.where == place::waiting)
    make_ready(id, i->second);
}

void tail_schedule::hurry(stream_id id) {
  const auto i = entries_.find(id);
  if (i == entries_.end() || i->second.is_urgent)
    return;
  auto& x = i->second;
  x.is_urgent = true;
  if (x.where == place::being_read)
    return;
  std::erase(ready_, id);
  make_ready(id, x);
}

std::optional<tail_schedule::stream_id> tail_schedule::next(time_point now) {
  while (!due_.empty() && due_.begin()->first <= now) {
    const auto id = due_.begin()->second;
    make_ready(id, entries_.at(id));
  }
  auto& queue = urgent_.empty() ? ready_ : urgent_;
  if (queue.empty())
    return {};
  const auto id = queue.front();
  queue.pop_front();
  entries_.at(id).where = place::being_read;
  return id;
}

void tail_schedule::read_some(stream_id id, size_t byte_count, bool has_more,
                              time_point now) {
  auto& x = entries_.at(id);
  if (has_more) {
    x.interval = {}; // It was much, however little the rest will be.
    make_ready(id, x);
    return;
  }
  const auto next = x.interval.count() == 0       ? limits_.shortest
                    : byte_count < limits_.little ? x.interval * 2
                                                  : x.interval / 2;
  x.interval = std::clamp(next, limits_.shortest, limits_.longest);
  wait(id, x, on_grid(now + x.interval));
}

void tail_schedule::read_nothing(stream_id id,
                                 std::optional<time_point> again) {
  auto& x = entries_.at(id);
  x.interval = {};
  wait(id, x, again);
}

bool tail_schedule::is_ready(time_point now) const {
  return !ready_.empty() || !urgent_.empty()
         || (!due_.empty() && due_.begin()->first <= now);
}

std::optional<time_point> tail_schedule::due() const {
  if (due_.empty())
    return {};
  return due_.begin()->first;
}

void tail_schedule::make_ready(stream_id id, entry& x) {
  forget_due(id, x);
  x.where = place::ready;
  (x.is_urgent ? urgent_ : ready_).push_back(id);
}

void tail_schedule::wait(stream_id id, entry& x,
                         std::optional<time_point> until) {
  x.where = place::waiting;
  x.is_urgent = false;
  x.due = until;
  if (until)
    due_.emplace(*until, id);
}

// The first multiple that is not earlier.
time_point tail_schedule::on_grid(time_point x) const {
  const auto grid = duration{limits_.shortest};
  const auto past = x.time_since_epoch() % grid;
  return past.count() == 0 ? x : x - past + grid;
}

void tail_schedule::forget_due(stream_id id, entry& x) {
  if (x.due)
    due_.erase({*x.due, id});
  x.due.reset();
}

} // namespace actorrun::core
