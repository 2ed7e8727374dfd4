#include "tests/sim/registry.hpp"

namespace actorrun::sim {

using namespace core;

namespace {

constexpr auto mark_length = std::chrono::hours{24};

} // namespace

void registry::expire(time_point now) {
  std::erase_if(leases_, [&](const auto& x) { return x.second.second <= now; });
  if (leader_ && !leases_.contains(leader_->lease))
    leader_.reset();
  if (job_.is_over && mark_end_ <= now)
    job_ = {};
}

entry_read registry::read() const {
  return {leader_ ? std::optional{leader_->what} : std::nullopt, job_};
}

int64_t registry::open_lease(duration length, time_point now) {
  leases_[++last_lease_] = {length, now + length};
  return last_lease_;
}

void registry::end_lease(const core::end_lease& order, time_point now) {
  if (order.job_over && leader_ && leader_->lease == order.lease) {
    job_ = {++revision_, true, order.job};
    has_ended_ = true;
    mark_end_ = now + mark_length;
    leader_.reset();
    terms_ = 0;
  }
  leases_.erase(order.lease);
  expire(now);
}

void registry::erase(bool with_leases) {
  leader_.reset();
  job_ = {};
  terms_ = 0;
  if (with_leases)
    leases_.clear();
}

std::optional<time_point> registry::end_of(int64_t lease) const {
  const auto i = leases_.find(lease);
  return i == leases_.end() ? std::nullopt : std::optional{i->second.second};
}

leadership_event registry::campaign(const core::campaign& order) {
  if ((leader_ ? leader_->what.revision : 0) != order.expected_revision
      || job_.revision != order.expected_job_revision)
    return campaign_lost{read().entry, job_};
  if (!leases_.contains(order.lease))
    return registry_failed{{errc::etcd_unreachable, "lease not found"}};
  leader_ = {{++revision_, ""}, order.lease};
  if (job_.is_over)
    terms_ = 0;
  job_ = {revision_, false, order.job};
  return campaign_won{revision_, terms_++};
}

leadership_event registry::publish(const core::publish& order) {
  if (!leader_ || leader_->what.revision != order.revision)
    return leadership_lost{};
  leader_->what = {++revision_, order.endpoint};
  return leadership_published{revision_};
}

leadership_event registry::write(const write_job& order, time_point now) {
  if (!leader_ || leader_->lease != order.lease)
    return job_written{}; // The next look at the entry shows it.
  job_ = {++revision_, order.is_over, order.job};
  if (order.is_over) {
    has_ended_ = true;
    mark_end_ = now + mark_length;
  }
  return job_written{};
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
