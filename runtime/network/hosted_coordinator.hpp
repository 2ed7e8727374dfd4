// Hosts the coordinator of a job: spawns it, listens for its agents, ends both.
#pragma once

#include "actors/rendezvous_coordinator.hpp"
#include "runtime/network/remote_agent_links.hpp"

#include <memory>
#include <string>

namespace actorrun::detail {

class hosted_coordinator {
public:
  /// Spawns the coordinator. Until `listen`, it has agents of this process only.
  /// @param config Its `links` are set here.
  /// @pre `system` outlives it
  hosted_coordinator(caf::actor_system& system, std::shared_ptr<reactor> home,
                     rendezvous_coordinator_config config);

  ~hosted_coordinator() { end(); }

  hosted_coordinator(const hosted_coordinator&) = delete;
  hosted_coordinator& operator=(const hosted_coordinator&) = delete;

  /// Listens for agents and operators. Logs where, and warns if other hosts can
  /// reach it although the job has no secret.
  /// @returns where it listens: `10.0.0.1:29400`
  /// @retval errc::address_in_use, errc::cannot_listen  as `listener`
  result<std::string> listen(const job_options& job,
                             const socket_address& where,
                             const credentials& mine);

  /// Kills the coordinator, waits until it calls back no more, and closes its
  /// port then: a node that finds the port closed may rely on it that no
  /// coordinator decides here. Does nothing when called again.
  void end();

  const rendezvous_coordinator_actor& actor() const { return actor_; }

private:
  caf::actor_system& system_;
  log lines_;
  std::shared_ptr<remote_agent_links> links_; ///< Null: it has ended.
  rendezvous_coordinator_actor actor_;
};

} // namespace actorrun::detail
