// Simulates the agents of a job that elect the next coordinator among themselves: paths
// that delay and break, processes that pause and die, hosts that vanish.
#pragma once

#include "tests/sim/dice.hpp"
#include "tests/sim/event_queue.hpp"
#include "tests/sim/succession_invariants.hpp"
#include "tests/sim/succession_process.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::sim {

class succession_world {
public:
  /// What happens to it.
  enum class fault {
    none,
    kill,      ///< Its process; the machine proves it.
    kill_some, ///< Its process, and soon others; all are proved.
    kill_mute, ///< Its process, and what could prove it.
    duel,      ///< It sleeps, two halves want its vote, and it dies with that.
    lose_host,
    pause,
    hang, ///< Its coordinator's actor.
    hand_over,
    move_leadership, ///< It hands over and stays.
    leave,
    cut, ///< Some paths, from and to its host.
  };

  succession_world(uint64_t seed, uint32_t host_count);
  ~succession_world();

  /// From now on, each order and fault becomes a line for this.
  void trace(std::function<void(const std::string&)> to) {
    trace_ = std::move(to);
  }

  /// A history with random faults, and a calm end.
  /// @returns the broken invariant, if there is one
  std::optional<std::string> run();

  /// One fault of the leader while all is well, and seconds to recover.
  /// @param is_witness The first agent has no workers.
  std::optional<std::string> run_once(fault what, core::duration length,
                                      bool is_witness);

  /// Without anything else happening; false if an invariant breaks.
  bool run_for(core::duration time);

  void strike(model_process& x, fault what, core::duration length);

  model_process* leader() const;
  uint32_t reign_count() const { return reign_count_; }
  /// Workers that were ended by their fences.
  uint32_t fenced_count() const;
  /// Processes that live and have workers of the newest generation.
  uint32_t running_count() const;
  uint64_t newest_generation() const { return facts_.newest_generation(); }
  uint32_t alive_count() const;
  /// The voters of the newest charter were too few at the end: no leader was due.
  bool was_lost() const { return was_lost_; }
  /// And then an operator has had one of the rest lead.
  bool was_ordered() const { return was_ordered_; }
  const std::optional<std::string>& breach() const { return facts_.breach(); }

private:
  using process = model_process;
  using shared = std::shared_ptr<model_process>;

  void note(const process& x, const std::string& what);

  // Machines and paths.
  core::time_point clock(const process& x) const;
  shared pointer(const process& x) const;
  shared find(const agent_id& id) const;
  shared find(uint32_t number) const;
  void spawn();
  void post(process& x, action what);
  void after(process& x, core::duration delay, action what);
  bool has_path(const process& from, const process& to) const;
  void send(process& from, process& to, action what);
  void resume(process& x);
  void kill(process& x, bool is_proved, bool with_host);
  void cut(process& x, core::duration length);
  void cut_for(std::set<std::pair<uint32_t, uint32_t>> paths,
               core::duration length);
  void kill_soon(process& x);
  void kill_some(process& x);
  void duel(process& x);
  void pause(process& x, core::duration length);
  void break_links(process& x);
  core::duration delay_of_message();
  void trouble();
  void calm();
  void check_end();
  void give_up_the_lost();
  std::vector<std::string> dead_agents() const;
  std::optional<std::string> trouble_at_end() const;
  bool can_be_found(const process& x) const;

  // The voter.
  void feed(process& x, const core::succession_event& event);
  void obey(process& x, const core::succession_effect& effect);
  void deliver(process& x, const core::send_message& order);
  void examine(process& x, const agent_id& who);
  void answer_decider(process& x);
  void check_sign(const process& x, core::time_point due);

  // The coordinator. Each names a reign: what comes late is for none.
  bool decides(const process& x, uint64_t reign) const;
  void decide(process& x, uint64_t reign, action what);
  void open(process& x, const core::open_coordinator& order);
  void close(process& x);
  void tick_coordinator(process& x, uint64_t reign);
  void tell_members(process& x);
  void lose(process& x, uint32_t agent);
  void check_complete(process& x);
  void adopt(process& x, const std::set<uint32_t>& back);
  void conclude(process& x);
  void revoke(process& x);
  void begin_generation(process& x);
  void form(process& x);
  void take_join(process& x, process& agent, core::time_point sent,
                 model_coordinator::member claim);
  void take_alive(process& x, process& agent, uint64_t link,
                  core::time_point sent, uint64_t newest, bool runs,
                  bool is_idle);
  void take_stopped(process& x, uint32_t agent, uint64_t link,
                    uint64_t generation);
  void order_stop(process& x, uint32_t agent, uint64_t generation);

  // The agent.
  void tick_agent(process& x);
  void seek(process& x);
  void ask_contact(process& x, process& at);
  void join(process& x, process& at, uint64_t reign);
  void take_accepted(process& x, process& at, uint64_t reign, uint64_t link,
                     core::time_point due, std::set<uint32_t> contacts);
  void take_granted(process& x, uint64_t link, core::time_point sent,
                    core::time_point due);
  void take_formed(process& x, uint64_t link, uint64_t generation,
                   uint32_t size);
  void take_revoked(process& x, uint64_t link, uint64_t generation);
  void check_start(const process& x, uint64_t generation);
  void stop_workers(process& x, uint64_t link, uint64_t generation);
  void set_fence(process& x, core::time_point due);
  void fire_fence(process& x, uint64_t mark);

  std::function<void(const std::string&)> trace_;
  event_queue queue_;
  dice dice_;
  std::vector<shared> processes_;
  succession_invariants facts_;
  std::set<std::pair<uint32_t, uint32_t>> cut_; ///< Directed, between hosts.
  std::set<uint32_t> lost_hosts_;
  bool is_calm_ = false;
  bool is_slow_
    = false; ///< Many messages are late, by as much as a few answers take.
  bool was_lost_ = false;
  bool was_ordered_ = false;
  std::optional<core::report_election> answer_; ///< To the last order.
  uint64_t last_reign_ = 0;
  uint32_t reign_count_ = 0;
};

} // namespace actorrun::sim
