#include "tests/sim/registry.hpp"

namespace actorrun::sim {

using namespace core;

void registry::expire(time_point now) {
  std::erase_if(leases_, [&](const auto& x) { return x.second.second <= now; });
  if (leader_ && !leases_.contains(leader_->lease))
    leader_.reset();
}

std::optional<leader_entry> registry::entry() const {
  return leader_ ? std::optional{leader_->what} : std::nullopt;
}

int64_t registry::open_lease(duration length, time_point now) {
  leases_[++last_lease_] = {length, now + length};
  return last_lease_;
}

void registry::end_lease(const core::end_lease& order) {
  leases_.erase(order.lease);
  if (order.job_over)
    terms_ = 0;
}

std::optional<time_point> registry::end_of(int64_t lease) const {
  const auto i = leases_.find(lease);
  return i == leases_.end() ? std::nullopt : std::optional{i->second.second};
}

leadership_event registry::campaign(const core::campaign& order) {
  if ((leader_ ? leader_->what.revision : 0) != order.expected_revision)
    return campaign_lost{entry()};
  if (!leases_.contains(order.lease))
    return registry_failed{{errc::etcd_unreachable, "lease not found"}};
  leader_ = {{++revision_, ""}, order.lease};
  return campaign_won{revision_, terms_++};
}

leadership_event registry::publish(const core::publish& order) {
  if (!leader_ || leader_->what.revision != order.revision)
    return leadership_lost{};
  leader_->what = {++revision_, order.endpoint};
  return leadership_published{revision_};
}

leadership_event registry::renew(const renew_lease& order, time_point sent,
                                 time_point now) {
  const auto i = leases_.find(order.lease);
  if (i == leases_.end())
    return lease_ended{};
  auto& [length, due] = i->second;
  due = now + length;
  return lease_renewed{length, sent};
}

} // namespace actorrun::sim
