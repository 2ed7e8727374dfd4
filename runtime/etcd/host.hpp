// Hosts the coordinator of a job while etcd has elected this node, and locates
// it for the agent otherwise.
#pragma once

#include "runtime/etcd/leadership.hpp"
#include "runtime/etcd/locator.hpp"
#include "runtime/network/elected_coordinator.hpp"
#include "runtime/network/hosted_coordinator.hpp"
#include "runtime/network/operator_socket.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

namespace actorrun::detail {

struct etcd_host_config {
  job_options job;             ///< Its rendezvous is etcd's address.
  core::job_settings settings; ///< Of the job, as this node asks for them.
  credentials mine;
  std::string announced; ///< Where others reach this node; empty: detected.
  std::string launch{};  ///< Of the agent; see `open_presence`.
  /// There is no agent: always campaigns, and accepts operators while it leads.
  bool is_alone = false;
  /// Says when this process has ended.
  std::shared_ptr<socket_keeper> keeper;
  /// The coordinator's configuration except etcd's part of it.
  std::function<rendezvous_coordinator_config()> configure;
  /// The job is over and all agents know. Called on any thread, as the next
  /// one.
  std::function<void(const core::outcome&)> on_closed;
  /// Our coordinator has stopped, or never led.
  std::function<void(const std::string& reason)> on_left;
  agent_id agent{}; ///< Of this node; empty: it has none.
  /// What runs for the leadership has ended unexpectedly.
  actor_watch::callback on_died;
  log lines{};
};

class etcd_host final : public elected_coordinator {
public:
  /// Sends no request to etcd yet, unless it `is_alone`.
  /// @pre `system` outlives it
  /// @retval errc::system_failure, errc::etcd_denied  as `etcd_client::open`
  static result<std::unique_ptr<etcd_host>> open(caf::actor_system& system,
                                                 std::shared_ptr<reactor> home,
                                                 etcd_host_config config);

  ~etcd_host() override;

  etcd_host(const etcd_host&) = delete;
  etcd_host& operator=(const etcd_host&) = delete;

  std::shared_ptr<ports::coordinator_locator>
  locator_for(const agent_id& agent) override;
  rendezvous_coordinator_actor coordinator() const override;
  void resign() override { leadership_->resign(false); }
  void stop() override;

private:
  etcd_host(caf::actor_system& system, std::shared_ptr<reactor> home,
            etcd_host_config config);

  result<std::string> open_coordinator(const core::open_coordinator& order,
                                       const etcd_link& registry);
  void close_coordinator(const std::string& reason);
  void open_operator_socket();
  ports::location here() const;

  caf::actor_system& system_;
  std::shared_ptr<reactor> home_;
  etcd_host_config config_;
  std::shared_ptr<etcd_leadership> leadership_;
  std::optional<operator_socket> operators_; ///< Of the leadership's thread.

  mutable std::mutex mutex_;                        // Guards the rest.
  std::unique_ptr<hosted_coordinator> coordinator_; ///< Null: we do not lead.
  std::string address_;                             ///< Ours, while we lead.
};

} // namespace actorrun::detail
