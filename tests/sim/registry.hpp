// Simulates what etcd holds of a job.
#pragma once

#include "actors/core/protocol/leadership_events.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace actorrun::sim {

/// Answers requests at once. Times are by its own clock, which all share here.
class registry {
public:
  /// Ends what has expired.
  void expire(core::time_point now);

  core::entry_read read() const;

  /// A job was marked as over.
  bool has_ended() const { return has_ended_; }

  int64_t open_lease(core::duration length, core::time_point now);
  void end_lease(const core::end_lease& order, core::time_point now);

  /// Loses the job's keys, as if an operator had removed them, and perhaps the leases, too.
  void erase(bool with_leases);

  /// When a lease ends; none: it has ended.
  std::optional<core::time_point> end_of(int64_t lease) const;

  core::leadership_event campaign(const core::campaign& order);
  core::leadership_event publish(const core::publish& order);
  core::leadership_event write(const core::write_job& order,
                               core::time_point now);

  /// @param sent When the request was sent.
  core::leadership_event renew(const core::renew_lease& order,
                               core::time_point sent, core::time_point now);

private:
  struct leader {
    core::leader_entry what;
    int64_t lease = 0;
  };

  std::optional<leader> leader_;
  std::map<int64_t, std::pair<core::duration, core::time_point>> leases_;
  core::job_mark job_;
  core::time_point mark_end_{}; ///< Of the mark of a job that is over.
  bool has_ended_ = false;
  uint32_t terms_ = 0; ///< Coordinators that the job has had.
  int64_t revision_ = 0;
  int64_t last_lease_ = 0;
};

} // namespace actorrun::sim
