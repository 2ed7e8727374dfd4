#include "actors/core/timers/early.hpp"

#include <utility>

namespace actorrun::core {

bool early_requests::hold(int64_t worker, const early_request& x,
                          time_point now) {
  forget_old(now);
  if (held_.size() == early_requests_max)
    return false;
  held_.push_back({now, worker, x});
  return true;
}

std::vector<early_request> early_requests::take(int64_t worker,
                                                time_point now) {
  forget_old(now);
  auto out = std::vector<early_request>{};
  std::erase_if(held_, [&](entry& x) {
    if (x.worker != worker)
      return false;
    out.push_back(std::move(x.what));
    return true;
  });
  return out;
}

void early_requests::forget_old(time_point now) {
  while (!held_.empty() && now - held_.front().since > early_timeout)
    held_.pop_front();
}

} // namespace actorrun::core
