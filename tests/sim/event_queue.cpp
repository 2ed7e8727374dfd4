#include "tests/sim/event_queue.hpp"

#include <algorithm>

namespace actorrun::sim {

void event_queue::at(core::time_point due, action what) {
  heap_.push_back({std::max(floor(due), now_), ++sequence_, std::move(what)});
  std::push_heap(heap_.begin(), heap_.end(), later);
}

bool event_queue::step(core::time_point limit) {
  if (heap_.empty() || heap_.front().due > limit)
    return false;
  std::pop_heap(heap_.begin(), heap_.end(), later);
  const auto next = std::move(heap_.back());
  heap_.pop_back();
  now_ = next.due;
  ++step_count_;
  next.what();
  return true;
}

} // namespace actorrun::sim
