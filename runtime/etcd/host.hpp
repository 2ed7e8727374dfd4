// One node's part in the office of a job's coordinator that etcd gives away:
// the coordinator while it is ours, and the agent's way to it wherever it is.
#pragma once

#include "actors/rendezvous_coordinator.hpp"
#include "runtime/etcd/leadership.hpp"
#include "runtime/etcd/locator.hpp"
#include "runtime/network/operator_socket.hpp"
#include "runtime/network/remote_agent_links.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace actorrun::detail {

struct etcd_host_config {
  job_options job; ///< Its rendezvous is etcd's address.
  credentials mine;
  std::string announced; ///< Where others reach this node; empty: found out.
  /// There is no agent: wants the office for its own sake, and lets operators
  /// in while it has it.
  bool is_alone = false;
  /// All of a coordinator's configuration that is not about etcd.
  std::function<rendezvous_coordinator_config()> configure;
  /// The job is over and all agents know. On some thread; so is the next.
  std::function<void(const core::outcome&)> on_closed;
  /// Our coordinator has left office, or has never been in it.
  std::function<void()> on_left;
  log lines{};
};

class etcd_host {
public:
  /// Asks etcd nothing yet, unless it `is_alone`.
  /// @pre `system` outlives it
  /// @retval errc::system_failure, errc::etcd_denied  as `etcd_client::open`
  static result<std::unique_ptr<etcd_host>> open(caf::actor_system& system,
                                                 std::shared_ptr<reactor> home,
                                                 etcd_host_config config);

  ~etcd_host();

  etcd_host(const etcd_host&) = delete;
  etcd_host& operator=(const etcd_host&) = delete;

  /// For the agent of this id.
  std::shared_ptr<ports::coordinator_locator>
  locator_for(const agent_id& agent);

  /// Null while it is elsewhere.
  rendezvous_coordinator_actor coordinator() const;

  /// Gives up the office, if it is ours, and any hope of it. Returns at once.
  void resign() { leadership_->resign(false); }

  /// Resigns; waits until nothing calls back any more.
  void stop();

private:
  etcd_host(caf::actor_system& system, std::shared_ptr<reactor> home,
            etcd_host_config config);

  result<std::string> open_coordinator(const core::open_coordinator& order,
                                       const etcd_link& registry);
  void close_coordinator();
  void end(const rendezvous_coordinator_actor& coordinator,
           const std::shared_ptr<remote_agent_links>& links) const;
  void let_operators_in();
  ports::location here() const;

  caf::actor_system& system_;
  std::shared_ptr<reactor> home_;
  etcd_host_config config_;
  std::shared_ptr<etcd_leadership> leadership_;
  std::optional<operator_socket> operators_; ///< Of the leadership's thread.

  mutable std::mutex mutex_; // Guards the rest.
  rendezvous_coordinator_actor coordinator_;
  std::shared_ptr<remote_agent_links> links_;
  std::string address_; ///< Ours, while we are in office.
};

} // namespace actorrun::detail
