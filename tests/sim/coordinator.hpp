// Simulates the coordinator's process: what rendezvous_coordinator does in the
// real system, around the shipped decisions.
#pragma once

#include "actors/core/journal/chronicle.hpp"
#include "actors/core/protocol/lease_desk.hpp"
#include "actors/core/protocol/output_gate.hpp"
#include "actors/core/protocol/speakers.hpp"
#include "actors/core/succession/voter_set.hpp"
#include "tests/sim/gpu_watch.hpp"
#include "tests/sim/history.hpp"
#include "tests/sim/machine.hpp"
#include "tests/sim/network.hpp"
#include "tests/sim/punctuality.hpp"
#include "tests/sim/restart_watch.hpp"
#include "tests/sim/succession.hpp"

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>

namespace actorrun::sim {

class cluster;

class coordinator {
public:
  /// @param number 1 for the first of the job, 2 for its successor …
  /// @param host Its host; none: one that no fault strikes.
  /// @param settings What its command line asks for.
  coordinator(cluster& all, std::shared_ptr<os_process> process, int number,
              std::optional<uint32_t> host, core::job_settings settings,
              core::timeouts limits);

  /// It may decide as long as this is true; without it, always.
  void set_term(std::function<bool()> may_decide) {
    may_decide_ = std::move(may_decide);
  }

  void start(const core::coordinator_started& known);

  /// Another may take over: closes its port and its links.
  void step_down();
  void handle(const core::rendezvous_event& event);

  /// Handles an agent's message that came over `from`.
  void receive(const std::shared_ptr<link>& from, const agent_id& agent,
               const core::rendezvous_event& event, core::time_point sent);
  void receive_keep_alive(const std::shared_ptr<link>& from,
                          const agent_id& agent, core::time_point sent,
                          const std::optional<core::saves_report>& saves);

  /// Messages arrive that are over: they must change nothing.
  /// @param is_closed The coordinator has nothing more to do.
  void hear_late(bool is_closed = false);

  /// What it wanted to be known is stored.
  void on_written(const core::charter_written& event);

  struct electors_answer {
    bool has_ended = false; ///< The job, and that is stored.
    /// Those that stay; none: agents of an earlier coordinator are coming back.
    std::optional<std::vector<core::voter_candidate>> here;
  };

  /// Who can vote, and lead.
  electors_answer electors() const;

  /// Its agents are told who votes.
  void tell_voters(const std::vector<agent_id>& voters);

  /// Its actor handles no message, for so long.
  void hang(core::duration length);
  bool is_hung() const { return is_hung_; }

  /// A link was closed, possibly one over which no agent has joined.
  void on_closed(const link* closed);

  /// Keeps a link, to close it when this process dies.
  void adopt(std::shared_ptr<link> opened);

  const core::rendezvous& brain() const { return brain_; }
  os_process& process() const { return *process_; }
  int number() const { return number_; }
  /// What voters have stored of the job.
  const core::charter& stored() const { return stored_; }
  /// The longest lease that any agent may have.
  core::duration lease_in_force() const { return succession_.lease_in_force(); }
  const std::optional<uint32_t>& host() const { return host_; }

  /// Whether its machine says that it has ended: its warden lives.
  bool has_tombstone() const { return !process_->alive() && !warden_dies_; }
  void lose_warden() { warden_dies_ = true; }

  /// Whether it listens; a sleeping process does not.
  bool up() const { return started_ && process_->alive() && !closed_; }
  bool closed() const { return closed_; }

private:
  /// How long ago it was confirmed that it leads.
  core::duration age() const;
  void note_heard(const agent_id& agent);
  /// The node ranks of the current generation's members that it knows.
  std::map<agent_id, uint32_t> ranks_of_members() const;
  void perform(const core::arm_timer& x);
  void perform(const core::accept_agent& x);
  void perform(const core::reject_agent& x);
  void perform(const core::probe_agent& x);
  void perform(const core::forget_agent& x);
  void perform(const core::announce_generation& x);
  void perform(const core::revoke_generation& x);
  void perform(const core::explain_failures& x);
  void perform(const core::tell_charter& x);
  void perform(const core::write_outcome& x);
  void perform(const core::end_job& x);
  void perform(const core::close_job& x);
  std::vector<core::rendezvous_effect>
  decide(const core::rendezvous_event& event);
  void check_links();
  void check_stops() const;
  void check_answer(const core::rendezvous_event& event,
                    const std::vector<core::rendezvous_effect>& effects);
  core::duration slack() const;
  bool may_act() const;
  void ignores(const core::rendezvous_event& event);
  void check_silence();
  void check_note(const core::rendezvous_event& event, bool is_probed);
  void check_refusal(const agent_id& agent, errc code) const;
  void note_job();
  void check_places(const std::map<agent_id, uint32_t>& before) const;
  void check_safe_point(const core::rendezvous_event& event,
                        const std::vector<core::rendezvous_effect>& effects);
  void check_journal(const core::rendezvous_event& event,
                     const std::vector<core::rendezvous_effect>& effects);
  void check_time(core::time_point now);
  void replay(const core::journal::chronicle::records& told);
  void note_saves(const agent_id& agent, const core::saves_report& x);
  void check_loss(generation_id stopped) const;
  void check_master() const;
  void check_list() const;
  void perform(const core::order_checks& x);
  void perform(const core::notify_drain& x);
  void perform(const core::send_safe_point_order& x);
  void perform(const core::start_ahead& x);
  void perform(const core::report_rule&) {}
  void perform(const core::report_exclusion&) {}
  void perform(const core::list_exclusion& x);
  void perform(const core::unlist_exclusion& x);
  void perform(const core::attribute_failure& x);
  void perform(const core::give_up_agent& x) { leases_.close(x.agent); }
  void perform(const core::report_stand_by&) {}
  void perform(const core::report_return&) {}
  void perform(const core::set_log_level&) {}
  void perform(const core::hand_over_leadership& x);
  void perform(const core::answer_operator& x);
  void send(const agent_id& agent, core::membership_event event);
  void show(std::function<void()> what);
  void show_voters(const agent_id& agent);
  void write();
  bool defer(action what);
  uint32_t leader_group() const;

  cluster& all_;
  std::shared_ptr<os_process> process_;
  int number_;
  std::optional<uint32_t> host_;
  core::duration clock_; ///< Of its machine, ahead of the simulation's.
  core::timeouts limits_;
  core::rendezvous brain_;
  core::lease_desk leases_;
  core::journal::chronicle chronicle_;
  core::journal::snapshot replayed_; ///< From the records alone.
  /// How many places there were, and how long, in µs, …
  uint64_t place_us_ = 0;
  core::time_point counted_until_{}; ///< … until then.
  /// Of the newest generation: up to when workers of nodes have saved.
  std::map<agent_id, core::time_point> saved_;
  /// The oldest of nodes that were given up, as they may come back and save again.
  core::time_point left_saved_ = core::time_point::max();
  std::optional<generation_id> stops_at_safe_point_; ///< The last that did.
  punctuality times_;
  restart_watch restarts_;
  gpu_watch gpus_;
  succession succession_;
  std::function<bool()> may_decide_;
  std::vector<std::shared_ptr<link>> opened_;
  std::map<agent_id, std::shared_ptr<link>> links_; ///< Newest, by member.
  core::speakers<agent_id> speakers_;
  /// By link: whose it is, and its number.
  std::map<const link*, std::pair<agent_id, uint64_t>> joined_;
  std::map<agent_id, core::time_point> heard_;  ///< When, at last, …
  std::map<agent_id, core::time_point> stamps_; ///< Of their last keep-alive.
  std::map<agent_id, uint32_t> heard_late_; ///< … after so many late timers.
  bool is_late_ = false;    ///< The latest timer, by a keep-alive or more.
  uint32_t late_count_ = 0; ///< So many were.
  std::map<agent_id, uint64_t> arrived_; ///< In this order.
  uint64_t arrival_count_ = 0;
  uint32_t step_count_ = 0;
  std::set<agent_id> told_; ///< How the job has ended.
  bool is_writing_ = false; ///< That, where the next coordinator looks.
  std::set<agent_id> accepted_before_; ///< By whichever coordinator.
  core::charter job_;                  ///< As the next one would be told.
  core::charter stored_;               ///< As it is told.
  core::time_point write_due_{};       ///< Of the last that was begun.
  core::output_gate<std::function<void()>> gate_;
  std::vector<agent_id> voters_; ///< As agents are told.
  bool is_hung_ = false;
  uint32_t hang_count_ = 0;
  std::deque<action> deferred_; ///< Till it goes on.
  uint64_t order_ = 0;          ///< That the answer to an operator is about.
  bool is_over_ = false;        ///< It waits for its last write, or for none.
  /// Whose workers were ordered to stop over the present link, by generation.
  std::map<agent_id, generation_id> stopped_;
  std::optional<timer_id> fired_; ///< A timer that is over.
  bool started_ = false;
  bool closed_ = false;
  bool warden_dies_ = false;
};

} // namespace actorrun::sim
