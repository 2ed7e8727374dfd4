// Gathers the agents of one job and forms its generations: runs core::rendezvous
// over the links to the agents.
#pragma once

#include "actors/core/devices/status.hpp"
#include "actors/core/hangs/job_silence.hpp"
#include "actors/core/journal/chronicle.hpp"
#include "actors/core/protocol/output_gate.hpp"
#include "actors/core/protocol/rendezvous.hpp"
#include "actors/core/protocol/speakers.hpp"
#include "actors/core/protocol/status_round.hpp"
#include "actors/core/reports/line_budget.hpp"
#include "actors/core/stragglers/job_pace.hpp"
#include "actors/core/vitals/node_vitals.hpp"
#include "actors/interfaces.hpp"
#include "actors/log.hpp"
#include "actors/operator_readings.hpp"
#include "actors/operator_stacks.hpp"
#include "actors/ports/agent_links.hpp"
#include "actors/ports/exclusion_list.hpp"
#include "actors/shared_lease_desk.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace actorrun {

struct rendezvous_coordinator_config {
  job_id job;
  core::job_settings settings;
  core::timeouts limits;
  std::string host;
  int64_t pid = 0;
  /// What may have been before it.
  core::coordinator_started beginning{};
  core::restart_rules rules{};
  /// Has what is excluded beyond the job; what it names is in `beginning`. May be null.
  std::shared_ptr<ports::exclusion_list> exclusions{};
  /// The job may have other nodes: log every generation.
  bool networked = false;
  /// Agents of this process have a lease too: they outlive the coordinator.
  bool lease_all = false;
  /// Called before every decision. If it returns none, nothing is decided, granted
  /// or sent any more.
  leadership_age age_of_leadership{};
  /// Where the links to agents answer keep-alives, by the same rule. Null: none
  /// does, and all of them come to the coordinator.
  std::shared_ptr<shared_lease_desk> leases{};
  std::shared_ptr<ports::agent_links> links;
  log lines;
  /// Called with what the next coordinator must know when it has changed, before
  /// anything follows from that: before a generation is announced, say. Must not
  /// block; may be null.
  std::function<void(const core::charter&)> on_job{};
  /// Has voters store that, with the outcome. `charter_written` with this change says
  /// that they have; what follows is seen by no other process before. Null: there are none.
  std::function<void(const core::charter&, uint64_t change)> write_job{};
  agent_id
    own_agent{}; ///< Of this process. Only what is written to voters needs it.
  /// How it was elected; none: it was not.
  std::optional<core::journal::leader_chosen> leadership{};
  /// Has this agent lead, as an operator has asked. Null: that cannot be.
  std::function<void(const agent_id& to, const std::string& by)> hand_over{};
  /// Has the outcome known wherever the next coordinator looks, and calls `done`,
  /// on any thread, when it is. Null: it has no such place.
  std::function<void(const core::outcome&, std::function<void()> done)>
    write_outcome{};
  /// Called with what has changed, in order. Must not block; may be null.
  std::function<void(core::journal::chronicle::records)> on_records{};
  /// Answers a `ReadJournal`, on any thread. Must not block. Null: no journal is kept.
  std::function<void(const v1::ReadJournal&,
                     std::function<void(v1::OperatorReply)> reply)>
    read_journal{};
  /// Called by its host if it ends unexpectedly. May be null.
  std::function<void(const std::string& reason)> on_died{};
  /// Called once, on a scheduler thread, when every agent knows the outcome.
  std::function<void(core::outcome)> on_closed;
};

class rendezvous_coordinator_state {
public:
  static constexpr const char* name = "rendezvous-coordinator";

  rendezvous_coordinator_state(rendezvous_coordinator_actor::pointer self,
                               rendezvous_coordinator_config config);

  rendezvous_coordinator_actor::behavior_type make_behavior();
  void on_exit();

private:
  struct effect_runner;

  /// How to reach an agent, and what its status shows.
  struct contact {
    node_agent_actor handle; ///< Null while there is no link.
    uint16_t liveness_port = 0;
    uint16_t voter_port = 0; ///< Where it answers as a voter; 0: it does not.
    std::optional<core::devices_status> devices{}; ///< Once they were reported.
    uint64_t asked = 0;    ///< The newest round that it was asked in.
    uint64_t answered = 0; ///< The newest round that it has answered.
  };

  template <class Message, class Handler>
  void if_own(const Message& x, Handler handle);
  void join(const v1::JoinRequest& x);
  void on(const electors_question& x);
  void on(const electors_known& x);
  std::optional<core::electorate> electorate_now() const;
  electors_answer electors(const std::vector<agent_id>& always) const;
  bool is_listening() const;
  void forget(const agent_id& agent);
  void link_down(const agent_id& agent, uint64_t link);
  void dispatch(const core::rendezvous_event& event);
  void note_job();
  uint32_t leader_group() const;
  std::optional<core::duration> age_of_leadership() const;
  void on(const core::charter_written& event);
  std::vector<core::rendezvous_effect>
  decide(const core::rendezvous_event& event, core::time_point now);
  void close();
  void steer(const operator_question& x);
  void keep(core::journal::chronicle::records x);
  void say_wait();
  void say_time();
  bool has_ended() const { return rendezvous_.result().has_value(); }
  template <class Write>
  void report_agent(Write write);
  void tell_desk();
  void note(const agent_id& agent, contact& from, const v1::NodeStatus& x);
  void note_devices(const agent_id& agent, contact& from,
                    const v1::NodeStatus& x);
  void when_seen(std::function<void()> fn);
  void ask_nodes();
  void settle_round();
  void on(const agent_id& agent, const v1::WorkersSilent& x);
  std::vector<agent_id> running_members() const;
  void look_for_hang();
  void look_into(const core::job_hang& what);
  bool settle(const core::job_hang& what, const v1::Stacks& seen);
  void on(const agent_id& agent, const v1::WorkerPaces& x);
  void on(const agent_id& agent, const v1::WorkersSaved& x);
  void compare_paces();
  void act_on(const core::straggler_finding& x);
  std::vector<core::paced_node> paced_nodes() const;
  void answer_question(const operator_question& x);
  operator_readings::node_map named_nodes() const;
  operator_stacks::node_map ranks_of_nodes() const;
  template <class T>
  void send(const agent_id& agent, T x);
  template <class T>
  void announce(const agent_id& agent, T x);
  void show_others(std::function<void()> what);
  uint32_t asked_worker_count() const;
  bool is_busy() const;
  caf::result<v1::JobStatus> answer_status(const v1::StatusRequest& x);
  void answer_status(const operator_question& x);
  template <class OnShown, class OnError>
  void show(const v1::StatusRequest& x, OnShown on_shown, OnError on_error);
  v1::OperatorReply explanations(const v1::Explain& what) const;

  rendezvous_coordinator_actor::pointer self_;
  rendezvous_coordinator_config config_;
  core::rendezvous rendezvous_;
  core::line_budget lines_of_agents_;
  core::journal::chronicle chronicle_;
  status_desk_actor desk_;                   ///< Is told what that records …
  core::journal::chronicle::records untold_; ///< … except for these.
  /// What it waits for that agents were told when they joined.
  enum class wait : uint8_t { none, listening, nodes } said_wait_ = wait::nodes;
  bool has_said_time_ = false;
  bool is_closing_ = false; ///< Every agent knows the outcome.
  watch_list watches_;
  std::map<agent_id, contact> contacts_;
  core::speakers<caf::actor_addr> speakers_;
  core::charter job_; ///< As `on_job` and `write_job` were told last.
  core::output_gate<std::function<void()>> gate_; ///< What others see.
  v1::VotersChanged voters_;                      ///< As agents are told.
  /// The operator whose request is being decided. Null: none, or it has an answer.
  std::function<void(v1::OperatorReply)> asking_;
  core::job_silence silence_;
  core::job_pace pace_;
  bool compares_soon_ = false; ///< Paces; it has sent itself a `paces_due`.
  core::status_round round_;
  std::vector<std::function<void()>> waiting_; ///< For the end of the round.
  operator_readings readings_{
    {[this](const agent_id& to, const v1::LogReading& x) { send(to, x); },
     [this](const agent_id& to, const v1::LogCredit& x) { send(to, x); }}};
  operator_stacks stacks_{
    [this](const agent_id& to, const v1::StacksRequest& x) { send(to, x); }};
};

rendezvous_coordinator_actor
spawn_rendezvous_coordinator(caf::actor_system& system,
                             rendezvous_coordinator_config config);

} // namespace actorrun
