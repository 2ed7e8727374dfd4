// Connects the simulated system: hosts, agents, coordinators and etcd.
#pragma once

#include "tests/sim/agent.hpp"
#include "tests/sim/candidate.hpp"
#include "tests/sim/coordinator.hpp"
#include "tests/sim/elector.hpp"
#include "tests/sim/node.hpp"
#include "tests/sim/promises.hpp"
#include "tests/sim/registry.hpp"

#include <chrono>
#include <unordered_map>

namespace actorrun::sim {

/// A warden that waits for the end of the workers looks so often, …
inline constexpr auto look_interval
  = core::duration{std::chrono::milliseconds{1}};
/// … and who asks waits so long.
inline constexpr auto examination_limit
  = core::duration{std::chrono::seconds{1}};

/// Runs one scenario. Everything follows from its seed.
class cluster {
public:
  cluster(scenario plan, history::mode how);
  ~cluster();
  cluster(const cluster&) = delete;
  cluster& operator=(const cluster&) = delete;

  /// Runs until all agents have finished, or an invariant is broken.
  /// @returns the broken invariant, if there is one
  std::optional<std::string> run();

  // -- for agents and coordinators --------------------------------------------

  core::time_point now() const { return queue_.now(); }
  const scenario& plan() const { return plan_; }

  /// Excluded hosts, in a list that outlives coordinators.
  std::map<std::string, core::excluded_host>& excluded_list() {
    return excluded_list_;
  }
  dice& roll() { return roll_; }
  invariants& checks() { return checks_; }
  history& trace() { return trace_; }
  world& shared() { return world_; }
  core::duration timer_lateness();

  /// The agent looks for the coordinator.
  void seek(agent& who, bool was_member);

  /// It tries that coordinator.
  /// @param is_for_candidate Its candidate wants to know what becomes of it.
  void connect(agent& who, int number, bool is_for_candidate);
  void to_coordinator(const std::shared_ptr<link>& over, const agent_id& from,
                      core::rendezvous_event event);
  /// @param saves What its workers have said of them, on the same way.
  void keep_alive(const std::shared_ptr<link>& over, const agent_id& from,
                  core::time_point sent,
                  std::optional<core::saves_report> saves);
  void to_agent(const std::shared_ptr<link>& over, const agent_id& to,
                core::membership_event event);
  void order_checks(const std::shared_ptr<link>& over, const agent_id& to);
  void probe(coordinator& who, const agent_id& whom);
  agent* find(const agent_id& id);
  size_t birth_order(const agent_id& id) const;
  coordinator* find_coordinator(int number);
  void on_finished(agent& who);
  void on_closed(coordinator& who, const core::outcome& result);
  void resign(os_process& process);

  // -- for the candidates -----------------------------------------------------

  registry& etcd() { return registry_; }
  bool reaches_registry(uint32_t host) const;
  bool is_healed() const { return healed_; }
  /// By coarse clocks, what is due before a tick comes at the tick.
  core::time_point on_time(core::time_point due) { return queue_.ceil(due); }
  core::duration coarse(core::duration x) const {
    return queue_.floor(core::time_point{x}).time_since_epoch();
  }
  void after(core::duration delay, action what) {
    queue_.after(delay, std::move(what));
  }
  coordinator& open_coordinator(std::shared_ptr<os_process> process,
                                uint32_t host,
                                const core::open_coordinator& order,
                                std::function<bool()> may_decide);
  void end_leadership(coordinator& who);

  // -- for those who elect ----------------------------------------------------

  succession_invariants& elections() { return elections_; }
  promises& orders() { return promises_; }
  elector* elector_of(const os_process& process);
  elector* elector_of(const agent_id& id);
  /// Messages between both would arrive.
  bool reaches(const elector& from, const agent_id& to);
  void send_elector(elector& from, const agent_id& to, elector_message what);
  void examine(elector& who, const agent_id& whom);
  void break_voter_links(agent& gone);

  // -- for the faults ---------------------------------------------------------

  /// Agents whose process is alive and that have not finished.
  std::vector<agent*> living();

  /// The newest coordinator; null before the first.
  coordinator* current() {
    return coordinators_.empty() ? nullptr : coordinators_.back().get();
  }

  /// The same, if it listens.
  coordinator* serving() {
    auto* x = current();
    return x != nullptr && x->up() ? x : nullptr;
  }

  /// What is wrong with an agent's command line.
  enum class mistake { none, settings, no_slots, too_many_slots, lie };

  agent& add_agent(uint32_t host, mistake made = mistake::none);
  uint32_t new_host();

  /// The place of a host's name among all names, as people order them.
  uint32_t name_order(uint32_t host) const { return name_orders_[host]; }
  const std::string& name_of(uint32_t host) const { return names_[host]; }
  /// Null: etcd elects none there.
  candidate* candidate_of(const os_process& process);
  /// @param traceless Nothing is left that could prove it.
  void kill_agent(agent& who, bool traceless = false);
  /// What the next coordinator knows of those before it.
  core::coordinator_started beginning();
  generation_id before_term_of_now();
  core::timeouts limits_of_next();
  void kill_coordinator(bool traceless = false);
  /// @param misled With other settings than the job's.
  void restart_coordinator(bool misled = false);
  /// Tells a node to end, as a person does.
  void signal_node(agent& who, int signal);
  /// An actor of this process ends by an error of ours.
  void crash_actor(os_process& process, core::actor_died::role which);
  void cut_link(agent& who);
  void silence(uint32_t host, side from);
  /// Between these hosts, in these directions.
  void cut_paths(host_pairs pairs, core::duration length);
  uint32_t host_count() const { return uint32_t(paths_.size()); }
  void set_registry_away(bool is_away) { is_registry_away_ = is_away; }
  /// From now on a firewall resets all connections of this host.
  void reset(uint32_t host);
  /// @param late As `link::wake`.
  void speak(uint32_t host, core::duration late = {});

  /// The network forgets the link of an agent.
  void stall_link(agent& who);

  /// Connects beside a link, until that is called off.
  void try_second_way(agent& who, int number);

  /// Runs `what` after the delay, unless the faults have ended by then.
  void later(core::duration delay, action what);

  /// From now on there must be no generation other than the present one.
  void keep_generation();

  void note(const std::string& what) { trace_.add(now(), "fault", what); }

private:
  struct attempt;

  void begin();
  void heal();
  void open_node(const std::shared_ptr<os_process>& process, bool has_agent);
  void spawn_coordinator(std::shared_ptr<os_process> process, bool misled);
  elector& add_elector(agent& who);
  bool has_way(uint32_t from, uint32_t to) const;
  void await_proof(elector& who, agent& target, core::time_point due);
  bool can_be_found(const agent& who);
  bool can_elect();
  void wake_links(uint32_t host, core::duration late);
  bool is_excluded(uint32_t host) const;
  uint32_t able_count();
  bool run_until(core::time_point limit);
  bool job_runs() const;
  void check_liveness();
  void check_load();
  void watch();
  route route_between(const agent& who, const coordinator& target) const;
  /// The newest coordinator in this process that is no other's.
  coordinator* hosted_by(const os_process& process) const;
  void arrive(const std::shared_ptr<attempt>& x);
  bool tell_reached(const attempt& x);
  void miss(const std::shared_ptr<attempt>& x, errc code);
  void await_end(coordinator& who, agent& target, core::time_point due);
  core::duration way();

  scenario plan_;
  dice roll_;
  event_queue queue_;
  history trace_;
  invariants checks_;
  world world_;
  std::vector<std::unique_ptr<path>> paths_; ///< By host.
  path open_path_;
  registry registry_;
  bool is_registry_away_ = false;
  std::vector<std::unique_ptr<agent>> agents_;  ///< Dead ones included.
  std::unordered_map<agent_id, size_t> births_; ///< Their places there.
  std::vector<std::unique_ptr<coordinator>> coordinators_;
  std::map<os_process*, std::unique_ptr<node>> nodes_;
  std::map<os_process*, std::unique_ptr<candidate>> candidates_;
  std::map<os_process*, std::unique_ptr<elector>> electors_;
  succession_invariants elections_;
  promises promises_;
  host_pairs cut_;
  std::map<const link*, coordinator*> far_ends_;
  std::vector<std::optional<uint32_t>> node_ranks_; ///< By host; if ranked.
  std::vector<std::string> names_;                  ///< By host, …
  std::vector<uint32_t> name_orders_;               ///< … as is their order.
  std::vector<std::string> roles_;                  ///< By host.
  std::vector<uint32_t> free_names_; ///< Of the table, in random order.
  std::vector<std::pair<uint32_t, std::shared_ptr<link>>> by_host_;
  bool closed_ = false; ///< The job is over.
  bool healed_ = false;
  core::time_point healed_at_{};
  bool ran_since_ = false; ///< A generation has run since the faults ended.
  /// With harmless faults: the maximum number of generations.
  std::optional<uint64_t> generation_count_max_;
  core::time_point load_since_{};
  uint64_t load_steps_ = 0;
  std::map<std::string, core::excluded_host> excluded_list_;
};

} // namespace actorrun::sim
