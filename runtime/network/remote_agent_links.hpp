// Owns the coordinator's side of the network: accepts agents and operators and
// keeps one link per agent.
#pragma once

#include "actors/interfaces.hpp"
#include "actors/log.hpp"
#include "actors/ports/agent_links.hpp"
#include "actors/shared_lease_desk.hpp"
#include "runtime/network/actor_watch.hpp"
#include "runtime/network/connector.hpp"
#include "runtime/network/guarded_link.hpp"
#include "runtime/network/listener.hpp"
#include "runtime/network/liveness.hpp"
#include "runtime/network/operator_sessions.hpp"
#include "runtime/network/rejected_peers.hpp"
#include "runtime/network/remote_agent.hpp"
#include "runtime/os/reactor.hpp"

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace actorrun::detail {

/// Timeout for the machine of a lost agent to prove that it has ended; after that
/// its lease decides.
inline constexpr auto probe_limit = std::chrono::seconds{1};

/// Timeout for an agent whose link is encrypted to be accepted by the coordinator;
/// longer in large jobs.
inline constexpr auto join_limit = std::chrono::seconds{5};

class remote_agent_links final : public ports::agent_links {
public:
  /// @param leases Where keep-alives are answered; null: by the coordinator.
  /// @param agent_count_max Of the job: so many may come at the same moment.
  /// @param answer_pause How late an answer to a keep-alive may be.
  /// @param accept_limit Timeout for an agent to be accepted.
  /// @pre `system` and `home` outlive this
  remote_agent_links(caf::actor_system& system, reactor& home, log lines,
                     std::shared_ptr<shared_lease_desk> leases = nullptr,
                     size_t agent_count_max = 1,
                     core::duration answer_pause = {},
                     core::duration accept_limit = join_limit);
  ~remote_agent_links() override;

  remote_agent_links(const remote_agent_links&) = delete;
  remote_agent_links& operator=(const remote_agent_links&) = delete;

  /// Passes all connections to the coordinator that `on_listening` names: it is
  /// called when no other process can listen there any more, and before a peer
  /// is accepted.
  /// @retval errc::address_in_use, errc::cannot_listen  as `listener`
  result<std::string>
  listen(const socket_address& where, const credentials& mine,
         const std::function<rendezvous_coordinator_actor(
           int socket, const nonce_bytes& incarnation)>& on_listening);

  /// Passes on clients of torch's store that come to the coordinator's port: of any
  /// host in a job without a secret and certificates, else of this one and of those
  /// that agents are linked from. `to` is called on the reactor's thread.
  /// @pre `listen` was not called
  void pass_store_clients(
    std::function<void(unique_fd client, const std::string& address)> to) {
    pass_store_client_ = std::move(to);
  }

  /// Passes on links of voters that come to the coordinator's port. `to` is called on
  /// the reactor's thread.
  /// @pre `listen` was not called
  void pass_voters(std::function<void(unique_fd, const peer&)> to) {
    pass_voter_ = std::move(to);
  }

  /// Stops listening and cuts all links. Returns when the port is closed.
  void close();

  void probe(const agent_id& agent, uint16_t port,
             std::function<void()> on_gone) override;
  void sever(const agent_id& agent) override;

private:
  using link_number = uint64_t; ///< Never used again.

  /// An agent past its handshake, whose link is not encrypted yet.
  struct new_link {
    peer who;
    reactor_handle link;
    link_number number = 0;
    /// That its handshake was checked with: of the link before, if there was one.
    std::optional<resumption_key> shown{};
  };

  /// An agent's link, and where the last one came from.
  ///
  /// Its id belongs to whoever had the first link with it, as long as this is
  /// remembered: workers may run there, and what ends them is said under that id.
  struct line {
    std::string host;    ///< Numeric.
    std::string address; ///< With the port.
    reactor_handle link; ///< Empty: it has ended.
    link_number number = 0;
    /// Of the newest link that was encrypted, also if it has ended.
    std::optional<resumption_key> last_key;
  };

  /// A link whose agent the coordinator has not accepted yet.
  struct applicant {
    shared_text agent;
    link_number number = 0;
    core::time_point until;
  };

  void receive(unique_fd connection, const peer& who);
  std::string take_store_client(unique_fd client, const std::string& address,
                                const std::string& host);
  bool is_of_job(const unique_fd& client, const std::string& host) const;
  void encrypt(unique_fd connection, peer who);
  remote_agent_setup setup_for(const peer& who);
  std::optional<core::duration> hear(const agent_id& agent, int64_t sent_ns);
  bool is_member(const shared_text& agent) const;
  void poke();
  void call_when_handled(std::function<void()> fn) const;
  std::optional<resumption_key> last_key_of(const std::string& agent) const;
  bool has_room_for(const peer& who) const;
  void expect(const shared_text& agent, link_number number);
  void settle_applicants();
  void cut_applicant(const applicant& x);
  bool is_applicant(const applicant& x) const;
  bool admit(new_link x, const resumption_key& key);
  void on_closed(const shared_text& agent, link_number number);
  void report_cut(const shared_text& id, const std::string& address,
                  const failure& why);
  void cut(line& x);
  void cut_all();
  /// One agent that may have ended, and where its machine says so.
  struct suspect {
    socket_address where;
    std::string tombstone;
    std::function<void()> on_gone;
    uint32_t attempt = 1;
  };

  void ask(suspect x);
  void forget_old_lines();

  caf::actor_system& system_;
  reactor& home_;
  log lines_;
  std::shared_ptr<shared_lease_desk> leases_;
  core::duration answer_pause_;
  /// At most this many peers are in each stage on their way: in the handshake, in the
  /// agreement on the encryption, and until they are accepted.
  size_t pending_max_;
  core::duration pending_time_max_; ///< For each of the first two, …
  core::duration accept_time_max_;  ///< … and for the third.
  size_t link_max_;                 ///< Agents, those included that stand by.
  credentials mine_;                ///< Do not change after `listen`.
  std::function<void(unique_fd, const std::string&)> pass_store_client_;
  std::function<void(unique_fd, const peer&)> pass_voter_;
  std::optional<listener> listener_;
  // The rest belongs to the reactor's thread.
  rendezvous_coordinator_actor coordinator_;
  actor_watch watch_; ///< Of it: its links end with it.
  std::map<link_number, new_link> new_links_;
  std::map<shared_text, line> links_;
  size_t link_count_ = 0; ///< Of these, those with a link.
  std::deque<applicant>
    applicants_; ///< Those that have waited longest in front.
  reactor::timer applicant_timer_ = 0;
  operator_sessions operators_;
  link_number last_link_ = 0;
  rejected_peers cut_links_;
  std::map<uint64_t, reactor_handle> probes_;
  uint64_t last_probe_ = 0;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace actorrun::detail
