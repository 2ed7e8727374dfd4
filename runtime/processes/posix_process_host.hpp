// Owns the workers' processes on this machine.
#pragma once

#include "actors/ports/process_host.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/processes/process_starter.hpp"
#include "runtime/processes/warden.hpp"
#include "runtime/processes/worker_process.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace actorrun::detail {

/// Starts processes, each with its own session and process group, watches them by
/// pidfd, and lets none outlive this program (see `warden`).
///
/// Programs of a batch are executed one after the other, on a thread of their
/// own; workers made by forks follow as they get ready (see `process_starter`). The
/// facts of one round of the reactor arrive in one call, and those that were seen
/// in one round bear the same time. Outputs that cannot be opened are one note per
/// batch.
///
/// Each batch has a control group where one can be made (see `cgroup_home`): then
/// nothing that a worker has started outlives its batch. The end of the last
/// worker of a batch that was signalled is reported when the group is empty, one
/// second later at most.
///
/// Where this program adopts orphans it reaps those of the workers that have
/// ended within a second. Those with a session of their own can be told from
/// children of a host program by their control group; see also `own_children`.
///
/// The zombie of a process stays until its generation is released, so that the id
/// of its group cannot come to mean another. Neither needs nor disturbs SIGCHLD. A
/// host program that reaps children which are not its own takes the exit code:
/// then 255 is reported, and a note.
class posix_process_host final : public ports::process_host {
public:
  /// Takes a line for the log; called on the reactor's thread.
  using note_handler = std::function<void(const std::string&)>;

  /// Calls `go` once, on any thread, when the resources of the ended workers
  /// are free. Their pids may have been reaped.
  using start_gate
    = std::function<void(std::vector<pid_t> ended, std::function<void()> go)>;

  /// @param gate  Called before each start but the first; null: starts are not
  ///              delayed.
  /// @param guard Null: it has a warden of its own.
  explicit posix_process_host(reactor& loop, note_handler on_note = {},
                              start_gate gate = {},
                              std::shared_ptr<warden> guard = nullptr);

  /// Kills all processes and waits for their end, one second at most.
  /// From then on no listener is called.
  /// @pre the reactor lives
  ~posix_process_host() override;

  posix_process_host(const posix_process_host&) = delete;
  posix_process_host& operator=(const posix_process_host&) = delete;

  /// A process whose start the fence has overtaken is not started: ECANCELED.
  /// Descriptors: at most `descriptor_count_max`, else EINVAL.
  void start(generation_id generation, ports::fence_token decided,
             std::vector<ports::process_spec> processes,
             listener on_event) override;

  /// Starts in progress are abandoned: ECANCELED. A program that is being
  /// executed gets the last such signal as soon as it runs.
  void signal(generation_id generation, int signal,
              std::vector<uint32_t> spared = {},
              ports::signal_scope scope = ports::signal_scope::group) override;
  void signal_one(generation_id generation, uint32_t local_rank, int signal,
                  ports::signal_scope scope
                  = ports::signal_scope::group) override;
  void notify(generation_id generation, int signal) override;
  void park(generation_id generation, uint32_t local_rank,
            std::function<void()> on_spared) override;
  void resume(generation_id generation, ports::fence_token decided,
              std::vector<uint32_t> local_ranks,
              std::function<void(std::vector<uint32_t>)> on_resumed) override;
  /// What a worker that has ended has left outside of its process group, in the
  /// control group of its batch, ends with the last worker of that.
  void release(generation_id generation,
               std::vector<uint32_t> spared = {}) override;
  void check(std::function<void()> on_answer) override;
  ports::fence_token set_fence(core::time_point due) override;

  /// Takes lines that are of interest only to those who look for a fault: why
  /// workers run without a control group. Call it before the first start.
  void set_detail_handler(note_handler on_detail) {
    on_detail_ = std::move(on_detail);
  }

  /// No other part of this program has children outside of its own session: so all
  /// orphans that have ended are reaped. Call it before the first start.
  void own_children() { owns_children_ = true; }

  /// The pid of the warden; 0 while there is none.
  /// @pre on the reactor's thread
  pid_t warden_pid() const { return warden_->pid(); }

  /// That of the second, which comes a little later.
  /// @pre on the reactor's thread
  pid_t second_warden_pid() const { return warden_->second_pid(); }

private:
  struct batch {
    listener on_event;
    std::shared_ptr<start_batch> files;
    /// Not started yet: the gate holds them back.
    std::vector<ports::process_spec> held{};
    std::vector<worker_process> workers{};
    /// Starts in progress, by local rank.
    std::map<uint32_t, process_starter::id> starting{};
    /// Signals for workers that run, and when they were sent, while some start: of
    /// one that runs already the news may be on its way.
    std::vector<std::pair<core::time_point, int>> notices{};
    std::vector<ports::process_event> pending{};
    size_t running_count = 0;
    /// Its starts are given up: what still comes gets this signal. 0: they are not.
    int late_signal = 0;
    ports::signal_scope late_scope = ports::signal_scope::group;
    bool released = false;
    std::set<uint32_t>
      gone{}; ///< Local ranks whose groups were killed already.
    uint32_t sweep_count = 0;
    /// The end of its last worker, if that was to be stopped: held back while
    /// processes that the workers have started live in the control group.
    std::optional<ports::process_event> last_end{};

    int cgroup_error = 0; ///< Why a worker runs outside of the group.
    const std::shared_ptr<worker_cgroup>& cgroup() const {
      return files->cgroup;
    }
  };

  /// What is left of a batch whose control group is empty.
  struct late_look {
    std::set<pid_t> sessions; ///< Processes in them are looked for once more.
    std::shared_ptr<worker_cgroup> group; ///< Removed then.
  };

  void start_all(generation_id generation,
                 std::vector<ports::process_spec> processes, listener on_event,
                 uint64_t fire_count);
  void hold_back(generation_id generation,
                 std::vector<ports::process_spec> processes,
                 uint64_t fire_count);
  void start_each(generation_id generation,
                  std::vector<ports::process_spec> processes,
                  uint64_t fire_count);
  void on_start(generation_id generation, uint32_t local_rank,
                started_process result);
  void add_worker(generation_id generation, uint32_t local_rank,
                  started_process process);
  void give_up_starts(generation_id generation, batch& group, int late_signal,
                      ports::signal_scope scope);
  void tell_residence();
  void conclude_starts(const batch& group);
  void finish_if_done(generation_id generation);
  void await_empty(generation_id generation, core::time_point deadline);
  void report_end(generation_id generation, ports::process_event event);
  static bool is_known_empty(const batch& group);
  void look_later(const batch& group);
  void look(uint32_t count);
  bool are_starting() const;
  bool sweep(batch& group);
  void reap();
  void reap_later();
  std::set<pid_t> all_sessions() const;
  std::string home_name() const;
  void watch(generation_id generation, size_t index);
  void on_ready(generation_id generation, size_t index);
  void report(generation_id generation, ports::process_event event);
  void flush(generation_id generation);
  worker_process* find(generation_id generation, uint32_t local_rank);
  void release_now(generation_id generation);
  void release_ended(batch& group, const std::vector<uint32_t>& spared);
  void finish(generation_id generation);
  void end_all();
  core::time_point round_time();
  void note(const std::string& text) const;
  reactor::task while_alive(reactor::task fn) const;

  /// What is posted may be left when an actor on the reactor's own thread has
  /// released this.
  void post(reactor::task fn) { loop_.post(while_alive(std::move(fn))); }

  reactor& loop_;
  note_handler on_note_;
  note_handler on_detail_{};
  start_gate gate_;
  std::vector<pid_t> ended_{}; ///< Released since the last start, for the gate.
  std::shared_ptr<warden> warden_;
  std::unique_ptr<process_starter> starter_;
  std::map<generation_id, batch> batches_;
  std::deque<late_look> late_; ///< In the order of their timers.
  std::optional<core::time_point> round_time_;
  bool reaps_ = false; ///< A timer is set.
  bool owns_children_ = false;
  bool has_told_obstacle_ = false;
  bool has_told_ended_ = false;
  bool has_asked_residence_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace actorrun::detail
