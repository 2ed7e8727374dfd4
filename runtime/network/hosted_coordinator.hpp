// Hosts the coordinator of a job: spawns it, listens for its agents, ends both.
#pragma once

#include "actors/rendezvous_coordinator.hpp"
#include "runtime/network/actor_watch.hpp"
#include "runtime/network/remote_agent_links.hpp"
#include "runtime/os/socket_keeper.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace actorrun::detail {

class hosted_coordinator {
public:
  /// @param config Its `links` and `leases` are set here.
  /// @param keeper Says when this process has ended; null: nothing does.
  /// @pre `system` outlives it
  hosted_coordinator(caf::actor_system& system, std::shared_ptr<reactor> home,
                     rendezvous_coordinator_config config,
                     std::shared_ptr<socket_keeper> keeper = nullptr);

  ~hosted_coordinator() { end(); }

  hosted_coordinator(const hosted_coordinator&) = delete;
  hosted_coordinator& operator=(const hosted_coordinator&) = delete;

  /// Spawns the coordinator, for agents of this process only. It is the first:
  /// no other process can have been told to join it.
  void begin();

  /// Listens for agents and operators, then spawns the coordinator: what it
  /// waits for because of an earlier one, it waits for from then on. It is a
  /// successor unless the caller, or this machine, proves that it is the first
  /// (docs/decisions/0022). Takes the port from a dead predecessor of the job
  /// on this machine. Logs where it listens, and warns if other hosts can reach
  /// it although the job has no secret. Blocks for at most
  /// five seconds.
  /// @param is_successor What a registry proves; none: there is no registry.
  /// @returns where it listens: `10.0.0.1:29400`
  /// @retval errc::address_in_use, errc::cannot_listen  as `listener`
  result<std::string> listen(const job_options& job,
                             const socket_address& where,
                             const credentials& mine,
                             std::optional<bool> is_successor = {});

  /// @see remote_agent_links::pass_store_clients
  void pass_store_clients(
    std::function<void(unique_fd client, const std::string& address)> to) {
    links_->pass_store_clients(std::move(to));
  }

  /// @see remote_agent_links::pass_voters
  void pass_voters(std::function<void(unique_fd, const peer&)> to) {
    links_->pass_voters(std::move(to));
  }

  /// Kills the coordinator, waits until it calls back no more, and closes its
  /// port. Does nothing when called again.
  void end();

  /// Kills the coordinator and waits until it calls back no more. The port stays open,
  /// unread, until this process ends; then its warden answers there.
  void end_with_process();

  /// Null before it is spawned.
  const rendezvous_coordinator_actor& actor() const { return actor_; }

private:
  void spawn();
  void kill();
  result<std::string> listen_once(const socket_address& where,
                                  const credentials& mine, bool may_be_first);
  void know(core::charter left);
  core::charter first_statement() const;
  void keep_port(int socket, const credentials& mine,
                 const nonce_bytes& incarnation);

  caf::actor_system& system_;
  log lines_;
  std::shared_ptr<socket_keeper> keeper_;
  rendezvous_coordinator_config config_;
  std::shared_ptr<remote_agent_links> links_; ///< Null: it has ended.
  rendezvous_coordinator_actor actor_;
  actor_watch watch_;
};

} // namespace actorrun::detail
