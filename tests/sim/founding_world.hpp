// Simulates the nodes of a job that may begin at any majority of its seeds: processes
// that start, pause, die and start again, paths that are cut, hosts that keep memos.
#pragma once

#include "actors/core/succession/founding.hpp"
#include "tests/sim/dice.hpp"
#include "tests/sim/event_queue.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::sim {

class founding_world {
public:
  /// What can go wrong.
  enum class kind {
    cut_off,   ///< Everything, but hosts keep their memos.
    forgetful, ///< Whoever dies leaves no memo; all paths are quick.
  };

  /// @param seed_count Hosts where the job may begin, of which one or none never comes.
  founding_world(uint64_t seed, uint32_t seed_count, kind what);
  ~founding_world();

  void trace(std::function<void(const std::string&)> to) {
    trace_ = std::move(to);
  }

  /// A history with random faults, and a calm end.
  /// @returns the broken invariant, if there is one
  std::optional<std::string> run();

  /// Begun in the whole history.
  uint64_t job_count() const { return jobs_.size(); }
  uint64_t process_count() const { return processes_.size(); }

private:
  struct job;
  struct process;
  struct machine;
  using shared = std::shared_ptr<process>;
  using hosts = std::set<std::pair<uint32_t, uint32_t>>;

  void note(const process& x, const std::string& what);
  void report(const std::string& what);
  bool run_for(core::duration time);

  // Machines and paths.
  core::time_point clock(const process& x) const;
  shared find(const agent_id& id) const;
  shared at(uint32_t host) const;
  bool has_path(uint32_t from, uint32_t to) const;
  void start(uint32_t host);
  void post(const shared& x, action what);
  void after(const shared& x, core::duration delay, action what);
  void send(const process& from, uint32_t host,
            std::function<void(shared)> what);
  void send(const process& from, const agent_id& to,
            std::function<void(shared)> what);
  core::duration delay_of_message();
  void kill(process& x, bool is_proved);
  void restart_newborns(const agent_id& but);
  void cut_halves(core::duration length);
  void pause(const shared& x, core::duration length);
  void trouble();
  void calm();
  void check_end();

  // Newborns.
  void feed(const shared& x, const core::founding_event& event);
  void obey(const shared& x, const core::founding_effect& effect);
  void ask(const shared& x, const core::ask_seed& order);
  void feed_wait(const shared& x, const core::beginning_event& event);
  void obey_wait(const shared& x, const core::beginning_effect& effect);
  void wait_for(const shared& x, const core::endpoint_list& who);
  void examine(const shared& x, const agent_id& who);
  core::host_survey survey(const process& x) const;
  void begin_founding(const shared& x);
  void begin(const shared& x);
  void hear_of_job(const shared& x, const shared& leader);
  void answer(const shared& x, const agent_id& to,
              std::optional<core::ballot> by);
  void look(const shared& x);

  // Jobs.
  shared leader_of(const process& x) const;
  void join(const shared& x, const shared& leader);
  void share_voters(job& of);
  void tick_leader(const shared& x);
  void keep_memo(process& x, const core::endpoint_list& voters);
  bool is_alive(const job& x) const;

  std::function<void(const std::string&)> trace_;
  event_queue queue_;
  dice dice_;
  kind kind_;
  uint32_t seed_count_;
  uint32_t host_count_;
  std::vector<std::string> seeds_;
  std::set<uint32_t> never_; ///< Hosts that no process is started on.
  std::vector<shared> processes_;
  std::vector<std::unique_ptr<job>> jobs_;
  std::map<uint32_t, machine> machines_;
  hosts cut_;
  bool is_calm_ = false;
  std::optional<std::string> breach_;
};

} // namespace actorrun::sim
