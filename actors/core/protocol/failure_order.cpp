#include "actors/core/protocol/failure_order.hpp"

#include "actors/core/failure_text.hpp"

#include <algorithm>
#include <tuple>

namespace actorrun::core {

bool failure_order::precedes(const entry& a, const entry& b) {
  const auto when = [](const entry& x) {
    return misses_peer(x.failure) ? x.died + hearsay_lag : x.died;
  };
  return std::tuple{when(a), a.died, a.arrival, a.failure.global_rank}
         < std::tuple{when(b), b.died, b.arrival, b.failure.global_rank};
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

void failure_order::add(const collateral& xs, time_point now) {
  ++arrivals_;
  for (const auto& x : xs.listed)
    insert(x, now);
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
