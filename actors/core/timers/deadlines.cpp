#include "actors/core/timers/deadlines.hpp"

namespace actorrun::core {

bool timer_deadlines::acquire(uint32_t worker, std::string_view scope,
                              time_point due, int signal, duration limit) {
  auto i = timers_.find(name{worker, scope});
  if (i != timers_.end())
    move(i->second, due);
  else if (has_room(worker, scope))
    i = add(worker, scope, due);
  else
    return false;
  i->second.signal = signal;
  i->second.limit = limit;
  return true;
}

bool timer_deadlines::has_room(uint32_t worker, std::string_view scope) const {
  return timers_.size() < limits_.timer_count_max
         && size_of(worker) < limits_.timers_per_worker_max
         && scope.size() <= scope_text_max
         && scope.size() <= limits_.text_max - text_size_;
}

timer_deadlines::timers::iterator
timer_deadlines::add(uint32_t worker, std::string_view scope, time_point due) {
  const auto i = timers_.emplace(key{worker, scope}, timer{}).first;
  i->second.place = waiting_.emplace(due, by_name::of(i->first));
  text_size_ += scope.size();
  if (counts_.size() <= worker)
    counts_.resize(worker + size_t{1});
  ++counts_[worker];
  return i;
}

timer_deadlines::order& timer_deadlines::order_of(const timer& x) {
  return x.is_expired ? expired_ : waiting_;
}

void timer_deadlines::move(timer& x, time_point due) {
  auto node = order_of(x).extract(x.place);
  node.key() = due;
  x.place = waiting_.insert(std::move(node));
  x.is_expired = false;
}

bool timer_deadlines::release(uint32_t worker, std::string_view scope) {
  const auto i = timers_.find(name{worker, scope});
  if (i == timers_.end())
    return false;
  remove(i);
  return true;
}

void timer_deadlines::clear(uint32_t worker) {
  for (auto i = timers_.lower_bound(name{worker, {}});
       i != timers_.end() && i->first.first == worker;)
    remove(i++);
}

void timer_deadlines::remove(timers::iterator which) {
  const auto& [worker, scope] = which->first;
  order_of(which->second).erase(which->second.place);
  text_size_ -= scope.size();
  --counts_[worker];
  timers_.erase(which);
}

void timer_deadlines::advance(time_point now) {
  while (!waiting_.empty() && waiting_.begin()->first <= now) {
    auto& x = timers_.find(waiting_.begin()->second)->second;
    x.place = expired_.insert(waiting_.extract(waiting_.begin()));
    x.is_expired = true;
  }
}

std::optional<expired_timer> timer_deadlines::take_expired() {
  if (expired_.empty())
    return std::nullopt;
  const auto& [due, whose] = *expired_.begin();
  const auto i = timers_.find(whose);
  auto out = expired_timer{.worker = i->first.first,
                           .scope = i->first.second,
                           .due = due,
                           .signal = i->second.signal,
                           .limit = i->second.limit};
  remove(i);
  return out;
}

std::optional<time_point> timer_deadlines::next_due() const {
  if (waiting_.empty())
    return std::nullopt;
  return waiting_.begin()->first;
}

size_t timer_deadlines::size_of(uint32_t worker) const {
  return worker < counts_.size() ? counts_[worker] : 0;
}

} // namespace actorrun::core
