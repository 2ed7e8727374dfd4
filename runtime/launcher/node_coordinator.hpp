// Owns a node's side of its job's coordinator: hosts it, has it while this node is
// elected, or knows where the agent looks for it.
#pragma once

#include "actors/core/protocol/coordinator_loss.hpp"
#include "actors/interfaces.hpp"
#include "actors/ports/coordinator_locator.hpp"
#include "runtime/journal/journal_writer.hpp"
#include "runtime/launcher/exclusion_file.hpp"
#include "runtime/launcher/node_end_runner.hpp"
#include "runtime/network/elected_coordinator.hpp"
#include "runtime/network/hosted_coordinator.hpp"
#include "runtime/network/operator_session.hpp"
#include "runtime/options.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/store/entrance.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace actorrun::detail {

struct node_coordinator_config {
  job_options job;
  credentials mine;
  std::string host;
  /// Of this process; none: it has a coordinator only, or is a witness.
  std::optional<agent_id> agent;
  std::string local_address; ///< Where others reach a witness; empty: detected.
  std::string launch;        ///< See `launcher_hooks`, as the next.
  bool is_new_job = false;
  /// Has operators answered that come through another port of this process. On the
  /// reactor's thread; must not block.
  question_sink ask;
  /// Says when this process has ended. Null: the job has one node only.
  std::shared_ptr<socket_keeper> keeper;
  log lines;
};

class node_coordinator {
public:
  /// @param journal Gets the journal of the newest coordinator here.
  /// @param end     Learns what becomes of it.
  /// @pre all but `config` live longer
  node_coordinator(caf::actor_system& system, std::shared_ptr<reactor> loop,
                   node_coordinator_config config,
                   std::shared_ptr<journal_writer>& journal,
                   node_end_runner& end);

  /// Kills one that is hosted here. No event comes from then on.
  ~node_coordinator();

  /// Hosts it if this node has to, or makes ready for an election.
  /// @param options Of the agent here. Null: there is none.
  /// @retval as `launcher::start`
  result<void> open(const agent_options* options);

  /// @see launcher::end_with_process
  void end_with_process();

  /// It is hosted here, whoever else takes part.
  bool is_hosted() const { return hosted_ != nullptr; }

  bool is_elected() const { return elected_ != nullptr; }

  /// Null: it is elsewhere.
  rendezvous_coordinator_actor actor() const;

  /// Where it is, if agents elect it and this node knows.
  std::optional<leader_place> place() const {
    return elected_ ? elected_->place() : std::nullopt;
  }

  /// The same, for a connection.
  std::optional<endpoint> place_on_network() const;

  /// Where the next one comes from, if this one is lost.
  core::coordinator_source next() const;

  /// How the nodes find one that is hosted here; else empty.
  const std::string& address() const { return address_; }

  /// The options that lead actorctl there; empty: it is hosted here.
  std::string options_for_operators() const;

  /// Leads clients of torch's store from its port to the store of this node. Null: it
  /// has no port, or lets none in.
  const std::shared_ptr<store_entrance>& entrance() const { return entrance_; }

  /// Of the job, as this node asks for them.
  core::job_settings settings() const;

  /// Likewise, for the agent here.
  core::timeouts limits() const;

  /// Makes the locator of this node's agent.
  /// @param announced Where others reach the agent; empty: detected.
  std::shared_ptr<ports::coordinator_locator>
  locator(const std::string& announced) const;

  /// Shows that the agent of this process takes part, if nothing else does.
  /// @retval errc::system_failure  the system refuses
  result<void> show_agent();

  /// The agent here has ended so.
  void part(const core::ending& how);
  /// Has this node lead without voters that an operator gives up, if agents elect the
  /// coordinator.
  void elect(operator_question x);

  /// Gives up the leadership, if this node can be elected.
  void resign();

  /// Ends the job, if it is hosted here. Told again, it does nothing. One that was
  /// elected leaves without ending the job: the next takes over.
  void end_job(int signal);

private:
  result<void> host();
  result<void> open_etcd(const std::string& announced);
  result<void> open_voters(const agent_options& options);
  result<void> open_witness();
  rendezvous_coordinator_config coordinators_config();
  void begin_journal(rendezvous_coordinator_config& of);
  void learn_of_predecessor(core::coordinator_started& beginning) const;
  std::vector<core::excluded_host> listed_hosts() const;
  void pass_store_clients(hosted_coordinator& from);
  void report(const core::node_end_event& x) { end_.handle(x); }
  void leave(const std::string& why);
  void report_death(const std::string& reason);

  caf::actor_system& system_;
  std::shared_ptr<reactor> loop_;
  node_coordinator_config config_;
  std::shared_ptr<journal_writer>& journal_;   ///< Null: none is kept.
  std::shared_ptr<exclusion_file> exclusions_; ///< Null: none is kept.
  node_end_runner& end_;
  bool is_occupied_ = false; ///< Another process listens at our endpoint.
  std::string address_;
  /// Null: another node hosts it, or `elected_` does.
  std::unique_ptr<hosted_coordinator> hosted_;
  std::shared_ptr<store_entrance> entrance_;
  /// Has the coordinator while this node is elected. Null: none is elected.
  std::unique_ptr<elected_coordinator> elected_;
  unique_fd presence_; ///< Of a node alone that a launch has started.
};

} // namespace actorrun::detail
