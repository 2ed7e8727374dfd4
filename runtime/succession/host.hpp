// Hosts the coordinator of a job while the other voters have elected this node, and
// locates it for the agent otherwise.
#pragma once

#include "runtime/network/coordinator_link.hpp"
#include "runtime/network/elected_coordinator.hpp"
#include "runtime/network/hosted_coordinator.hpp"
#include "runtime/succession/leadership.hpp"
#include "runtime/succession/memo.hpp"
#include "runtime/succession/signpost.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::detail {

struct voter_host_config {
  job_options job;
  core::job_settings settings; ///< Of the job, as this node asks for them.
  credentials mine;
  agent_id agent;
  bool is_home = false; ///< The job's endpoint is on this host.
  /// Where the job may begin: `job.rendezvous` alone or, in the same order on all
  /// nodes, several, of which that is the one on this host, if there is one.
  std::vector<endpoint> seeds;
  std::string announced; ///< Where others reach this node; empty: detected.
  std::string launch{};  ///< Of the agent; see `open_presence`.
  /// The job has just been made up: no memo can be of it.
  bool is_new_job = false;
  std::string host{}; ///< The name of this host.
  /// Says when this process has ended.
  std::shared_ptr<socket_keeper> keeper;
  /// The coordinator's configuration, except what voters have to do with.
  std::function<rendezvous_coordinator_config(bool is_first)> configure;
  /// Called for the coordinator with which the job begins, before it listens.
  std::function<void(hosted_coordinator&)> prepare;
  /// Has operators answered that come where nodes look for the coordinator. On the
  /// reactor's thread; must not block.
  question_sink ask;
  /// The job is over and all agents know. Called on any thread, as the next ones.
  std::function<void(const core::outcome&)> on_closed;
  /// Our coordinator has stopped, or never led.
  std::function<void(const std::string& reason)> on_left;
  /// What runs for the leadership has ended unexpectedly.
  actor_watch::callback on_died;
  log lines{};
};

class voter_host final : public elected_coordinator {
public:
  /// @pre `system` outlives it; the job has a rendezvous
  static std::unique_ptr<voter_host> open(caf::actor_system& system,
                                          std::shared_ptr<reactor> home,
                                          voter_host_config config);

  ~voter_host() override;

  voter_host(const voter_host&) = delete;
  voter_host& operator=(const voter_host&) = delete;

  /// Begins the job at its endpoint. Blocks as `hosted_coordinator::listen`. If this host
  /// has a memo of it, or there are several seeds, it is begun later, or not at all
  /// (`core::beginning`, `core::founding`).
  /// @param where     The endpoint's address on this host.
  /// @param announced How the nodes find this host.
  /// @param is_new    No other coordinator can have been; none: unknown.
  result<void> found(const socket_address& where, const std::string& announced,
                     std::optional<bool> is_new);

  std::shared_ptr<ports::coordinator_locator>
  locator_for(const agent_id& agent) override;
  rendezvous_coordinator_actor coordinator() const override;
  bool remembers_job() const override { return !former_.empty(); }
  void part(const core::ending& how) override;
  std::optional<leader_place> place() const override;
  void elect(operator_question x) override;
  void resign() override;
  void stop() override;

private:
  struct founding {
    socket_address where;
    std::string announced;
    std::optional<bool> is_successor;
  };

  class locator;
  class presence;

  voter_host(caf::actor_system& system, std::shared_ptr<reactor> home,
             voter_host_config config);

  result<std::string> open_coordinator(const core::open_coordinator& order);
  result<std::string> listen(hosted_coordinator& at,
                             const core::open_coordinator& order);
  void close_coordinator(const std::string& reason);
  void take_up_memos();
  std::optional<core::host_survey> survey() const;
  void settle_memos(bool is_new);
  void note(std::optional<leader_place> x);
  void stand_by();
  result<uint16_t> show(const socket_address& where,
                        const std::string& announced);
  ports::location here() const;

  caf::actor_system& system_;
  std::shared_ptr<reactor> home_;
  voter_host_config config_;
  std::shared_ptr<presence> presence_;
  std::vector<found_memo> former_; ///< Left behind by agents of the job here.
  core::endpoint_list remembered_; ///< Those that these name, and may live.
  std::unique_ptr<memo_keeper> memo_;
  std::shared_ptr<voter_leadership> leadership_;
  std::unique_ptr<signpost> signpost_; ///< Of the leadership's thread.

  mutable std::mutex
    place_mutex_; // Guards the next. Nothing waits that has it.
  std::optional<leader_place> place_;

  mutable std::mutex mutex_;                        // Guards the rest.
  std::unique_ptr<hosted_coordinator> coordinator_; ///< Null: it is elsewhere.
  std::optional<founding> founding_; ///< Of the coordinator to be opened.
  /// They only speak while our address is not known yet. Null: it has stopped.
  std::shared_ptr<voter_keys> keys_ = std::make_shared<voter_keys>();
  std::shared_ptr<voter_links> links_;
  std::string address_; ///< Ours; empty: unknown.
};

} // namespace actorrun::detail
