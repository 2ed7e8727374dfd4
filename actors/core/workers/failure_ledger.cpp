#include "actors/core/workers/failure_ledger.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace actorrun::core {

void failure_ledger::report(const worker_failure& failure, time_point now) {
  first_ = aged(failure, -now.time_since_epoch());
}

void failure_ledger::add(worker_failure failure, time_point now) {
  failure.age -= now.time_since_epoch();
  const auto& listed = others_.listed;
  const auto is_early = early_.contains(failure.local_rank);
  const auto place
    = std::find_if(listed.begin(), listed.end(), [&](const auto& x) {
        return is_early && x.age < failure.age;
      });
  insert(place, std::move(failure));
}

worker_failure failure_ledger::take_held(time_point now) {
  assert(!others_.listed.empty());
  auto& held = others_.listed;
  auto out = aged(std::move(held.front()), now.time_since_epoch());
  held.erase(held.begin());
  return out;
}

collateral failure_ledger::take_others(time_point now) {
  const auto& listed = others_.listed;
  const auto is_older = [this](const auto& x) {
    return first_ && early_.contains(x.local_rank) && x.age > first_->age;
  };
  const auto last = std::find_if(listed.rbegin(), listed.rend(), is_older);
  if (last != listed.rend())
    insert(last.base(), *first_);
  early_.clear();
  return aged(std::exchange(others_, {}), now.time_since_epoch());
}

void failure_ledger::insert(std::vector<worker_failure>::const_iterator place,
                            worker_failure x) {
  others_.listed.insert(place, std::move(x));
  if (others_.listed.size() > other_failures_max) {
    others_.listed.pop_back();
    ++others_.unlisted_count;
  }
}

} // namespace actorrun::core
