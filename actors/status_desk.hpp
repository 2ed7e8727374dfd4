// Shows one picture of a job to all that ask for its status, so that they do not
// hold up whoever decides.
#pragma once

#include "actors/core/journal/snapshot.hpp"
#include "actors/interfaces.hpp"
#include "actors/shared_lease_desk.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

namespace actorrun {

/// Adds up the records of the coordinator's journal, as a replay does, and makes a
/// picture of them when one is wanted: at most one in a time that grows with the job,
/// however many watch.
class status_desk_state {
public:
  static constexpr const char* name = "status-desk";

  /// @param leases Tell when agents were last heard.
  status_desk_state(status_desk_actor::pointer self,
                    std::shared_ptr<shared_lease_desk> leases)
    : self_(self), leases_(std::move(leases)) {}

  status_desk_actor::behavior_type make_behavior();
  void on_exit();

private:
  using promise = caf::typed_response_promise<status_shown>;

  /// What an agent says of its node.
  struct node_report {
    std::optional<core::devices_status>
      devices{}; ///< None: it has said nothing.
    core::node_vitals vitals{};
    core::time_point seen{}; ///< When those came; none: they never did.
  };

  /// A picture that may still be fetched page by page.
  struct kept_picture {
    shared_status what;
    core::time_point made;
  };

  void apply(const core::journal::record& x);
  void note(const node_reported& x);
  caf::result<status_shown> show(const status_wanted& x);
  bool is_new_enough(bool for_watch, core::time_point now) const;
  shared_status find(uint64_t number) const;
  core::duration gap() const;
  void make_picture();
  v1::JobStatus status(core::time_point now) const;
  void add_leases(v1::JobStatus& out, core::time_point now) const;
  void add_devices(v1::JobStatus& out) const;

  status_desk_actor::pointer self_;
  std::shared_ptr<shared_lease_desk> leases_;
  core::journal::snapshot known_;
  std::map<agent_id, node_report> nodes_;
  uint64_t news_ = 0; ///< Counts what has changed, beside ages.
  shared_status newest_;
  core::time_point made_{};       ///< When that was.
  std::deque<kept_picture> kept_; ///< With more than one page.
  std::vector<promise> waiting_;  ///< For the next picture.
  bool is_woken_ = false;         ///< A wake-up is under way.
};

status_desk_actor spawn_status_desk(caf::actor_system& system,
                                    std::shared_ptr<shared_lease_desk> leases);

} // namespace actorrun
