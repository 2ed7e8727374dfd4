#include "actors/core/protocol/failure_order.hpp"

#include "actors/core/failure_text.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace actorrun::core {

// The end of a process is seen when all its memory is free, and its peers may have
// failed before: a death by a signal counts from the earliest moment on at which it
// may have begun. A closed connection is no reason to send one, and a worker that ends
// itself for that says so. What happened in a stop has not caused it.
bool failure_order::precedes(const entry& a, const entry& b) {
  const auto when = [](const entry& x) {
    return misses_peer(x.failure) ? x.died + hearsay_lag
                                  : x.died - x.failure.teardown;
  };
  const auto key = [&](const entry& x) {
    return std::tuple{x.failure.while_stopped, when(x), x.died, x.arrival,
                      x.failure.global_rank};
  };
  return key(a) < key(b);
}

void failure_order::insert(const worker_failure& x, time_point now) {
  const auto is_it = [&x](const entry& y) {
    return y.failure.agent == x.agent && y.failure.local_rank == x.local_rank;
  };
  auto fresh = entry{x, now - x.age, arrivals_};
  const auto known = std::find_if(entries_.begin(), entries_.end(), is_it);
  if (known != entries_.end()) {
    // Of two messages, the quicker one gives the better time.
    known->died = std::min(known->died, fresh.died);
    fresh = std::move(*known);
    entries_.erase(known);
  } else if (!known_.emplace(x.agent, x.local_rank).second) {
    return;
  }
  // What its agent had reported before it had happened before it, unless it was
  // held back meanwhile.
  for (auto& y : entries_)
    if (y.failure.agent == x.agent && y.arrival < fresh.arrival
        && (!misses_peer(x) || misses_peer(y.failure)))
      y.died = std::min(y.died, fresh.died);
  entries_.push_back(std::move(fresh));
  std::sort(entries_.begin(), entries_.end(), &failure_order::precedes);
  if (entries_.size() > 1 + other_failures_max) {
    entries_.pop_back();
    ++unlisted_count_;
  }
}

void failure_order::add(const worker_failure& x, time_point now) {
  ++arrivals_;
  insert(x, now);
}

// An agent lists again what it has reported if those in front of it were before it:
// their workers have said so. The ages in one list are of one moment.
void failure_order::add(const collateral& xs, time_point now) {
  ++arrivals_;
  const auto& listed = xs.listed;
  const auto find = [this](const worker_failure& x) {
    return std::find_if(entries_.begin(), entries_.end(), [&](const entry& y) {
      return y.failure.agent == x.agent && y.failure.local_rank == x.local_rank;
    });
  };
  const auto is_in_front = [&](size_t i, const entry& again) {
    const auto x = find(listed[i]);
    return x == entries_.end() || x->arrival > again.arrival;
  };
  auto arrivals = std::map<size_t, uint64_t>{}; // Of those listed again.
  for (size_t j = 1; j < listed.size(); ++j)
    if (const auto x = find(listed[j]); x != entries_.end())
      for (size_t i = 0; i < j; ++i)
        if (is_in_front(i, *x))
          arrivals.emplace(j, x->arrival);
  for (const auto& [j, arrival] : arrivals)
    find(listed[j])->arrival = arrivals_; // Meanwhile it was not before them.
  for (size_t j = 0; j < listed.size(); ++j)
    if (!arrivals.contains(j))
      insert(listed[j], now);
  for (const auto& [j, arrival] : arrivals) {
    const auto again = find(listed[j]);
    if (again == entries_.end())
      continue;
    again->arrival = arrival;
    again->died = std::min(again->died, now - listed[j].age);
    for (size_t i = 0; i < j; ++i)
      if (const auto x = find(listed[i]);
          x != entries_.end() && x->arrival > arrival)
        x->died = std::min(x->died, again->died - duration{1});
  }
  std::sort(entries_.begin(), entries_.end(), &failure_order::precedes);
  unlisted_count_ += xs.unlisted_count;
}

worker_failure failure_order::first(time_point now) const {
  auto x = first();
  x.age = now - entries_.front().died;
  return x;
}

collateral failure_order::others(time_point now) const {
  auto out = collateral{.listed = {}, .unlisted_count = unlisted_count_};
  for (size_t i = 1; i < entries_.size(); ++i) {
    auto x = brief(entries_[i].failure);
    x.age = now - entries_[i].died;
    out.listed.push_back(std::move(x));
  }
  return out;
}

} // namespace actorrun::core
