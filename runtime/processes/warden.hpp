// Owns the wardens: two tiny processes that kill the workers when their agent
// cannot, because it is dead, or stopped while its fence passes. They also say
// that the agent has ended, to those who ask.
#pragma once

#include "actors/core/time.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/socket_keeper.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/processes/spawn.hpp"
#include "runtime/processes/warden_process.hpp"
#include "runtime/processes/worker_cgroup.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace actorrun::detail {

/// What its owner logs when it has ended unexpectedly.
inline constexpr auto warden_lost = "warden has died; another one is started";

/// Promises that every process group in its table gets SIGKILL
/// - within milliseconds after the agent has ended in any way, and
/// - when the fence passes without having been moved, even if the agent is
///   stopped by then. The groups stay in the table, the fence is cleared.
///   Groups that are spared live on. While there are any, what others have
///   started outside of their process groups does, too.
///
/// A death signal (PDEATHSIG) reaches the workers themselves; the warden
/// reaches what they have started: their process groups, and all else where
/// there are control groups for them. There are two of it, so that the end of agent
/// and warden at once is not the end of that promise; the second one comes when
/// the first has run for a moment. It learns of the agent's end from a pidfd of
/// the agent, not from the end of a pipe, which a process that the host program
/// has forked could hold open. It sleeps unless a fence is due.
///
/// @see docs of `spawner`: a worker puts itself into the table, before its
///      death signal is set and before its exec. One that is made by a fork is
///      put there while it waits for permission to run. So every process that
///      can run foreign code is in the table.
class warden final : public socket_keeper {
public:
  /// The slot of one process group in the table, from before its process exists
  /// until it goes. At most `core::slots_per_agent_max` of them.
  class registration final : public child_gate {
  public:
    registration() = default;
    registration(registration&& other) noexcept;
    registration& operator=(registration&& other) noexcept;
    ~registration() { reset(); }

    /// Takes the group from the table. Call it while the pid cannot have been
    /// given to another process: before the leader is reaped.
    void reset();

    /// False when the table was full.
    explicit operator bool() const { return owner_ != nullptr; }

    /// Fails with ECANCELED when the fence has fired meanwhile. Also for the
    /// parent of a child that leads its group already.
    int enter(pid_t self) noexcept override;
    void leave() noexcept override;

    /// The fence is to leave the group alone, the agent's end is not.
    /// @returns ECANCELED if the fence has fired since it guards the group, which
    ///          has been killed then, or is to be
    int spare() noexcept;

    /// Ends that.
    /// @param fire_count As for `enlist`.
    /// @returns ECANCELED if the fence has fired since then, or is over
    int guard(uint64_t fire_count) noexcept;

    /// The fence has fired since it guards the group.
    bool was_killed() const noexcept;

    int cgroup() const noexcept override {
      return cgroup_ ? cgroup_->folder() : -1;
    }

  private:
    friend class warden;
    void end_sparing(std::atomic<pid_t>& group) noexcept;

    warden* owner_ = nullptr;
    uint32_t slot_ = 0;
    uint64_t fire_count_ = 0; ///< From then on it is guarded.
    std::shared_ptr<worker_cgroup> cgroup_;
  };

  /// Starts no process yet. Aborts without memory or descriptors.
  /// @param on_lost Called on the reactor's thread when one of the two processes
  ///                has ended unexpectedly. While there are groups to guard another
  ///                one is started soon, else by `ensure`.
  warden(reactor& loop, std::function<void()> on_lost);

  /// Ends both and waits for their ends; the groups are left alone.
  /// @pre on the reactor's thread; no registration is left
  ~warden() override;

  warden(const warden&) = delete;
  warden& operator=(const warden&) = delete;

  // -- on the reactor's thread ------------------------------------------------

  /// Starts the first warden unless it runs, and the second a little later: few
  /// milliseconds count in a start. @returns 0 or an errno
  int ensure();

  /// Takes a slot for a process that is about to start.
  /// @param fire_count Of the time when its start was ordered: a fence that has
  ///                   fired since then forbids it.
  /// @param cgroup Where the process starts; null: beside the agent.
  registration enlist(uint64_t fire_count,
                      std::shared_ptr<worker_cgroup> cgroup = nullptr);

  /// Makes a control group for a batch of processes. The warden kills all that is
  /// in there when it kills the groups. Null: none can be made, see `obstacle`.
  /// @pre `ensure` was called
  std::shared_ptr<worker_cgroup> open_cgroup() {
    return home_ ? home_->open() : nullptr;
  }

  /// The path of the group that holds them; empty: there is none.
  std::string cgroup_path() const { return home_ ? home_->path() : ""; }

  /// Why there are no control groups; empty if there are.
  std::string obstacle() const { return home_ ? home_->obstacle() : ""; }

  /// Why what a warden needs may not stay in memory; empty: it does, or has not tried.
  std::string residence_obstacle() const;

  /// As `cgroup_home::ended`.
  std::string ended_group() const { return home_ ? home_->ended() : ""; }

  /// Of the first and of the second; 0 when it does not run.
  pid_t pid() const { return processes_[0].pid; }
  pid_t second_pid() const { return processes_[1].pid; }

  // -- from any thread --------------------------------------------------------

  /// All groups are killed at `due` unless a later call moves it.
  /// `time_point::max()`: never.
  /// @returns how often the fence had fired before
  uint64_t set_fence(core::time_point due);

  /// How often the fence has fired.
  uint64_t fire_count() const { return table_->fire_count.load(); }

  /// How long a statement is offered: so long after the end or the last request,
  /// and at most. Before this call: not at all.
  void set_linger(core::duration after, core::duration most);

  void keep(kept_socket which, int socket, std::string_view statement = {},
            std::string_view release = {}) override;
  void reword(kept_socket which, std::string_view statement) override;
  void close(kept_socket which) override;

private:
  /// One of the two processes, and our ends of what it reads.
  struct peer {
    unique_fd wake_up;
    unique_fd orders; ///< Our end, …
    unique_fd
      orders_taken;    ///< … and that of the process, which a next one has.
    unique_fd process; ///< A pidfd; empty while it does not run.
    pid_t pid = 0;
    reactor::timer start = 0; ///< Of the next one.
  };

  static peer make_peer();
  int start(warden_role role);
  void start_soon(warden_role role, core::duration delay);
  peer& at(warden_role role) { return processes_[size_t(role)]; }
  void write(kept_socket which, std::string_view statement);
  void send_order(kept_socket which);
  static void send(const peer& to, uint32_t which, int fd);
  bool keeps_any();
  void make_home();
  void on_end(warden_role role);
  void restart(warden_role role);

  reactor& loop_;
  std::function<void()> on_lost_;
  warden_table* table_ = nullptr;
  std::optional<cgroup_home> home_; ///< From the first `ensure` on.
  unique_fd agent_;
  std::array<peer, 2> processes_; ///< By `warden_role`.
  std::vector<uint32_t> free_slots_;

  std::mutex kept_mutex_; // Guards the rest, and the table's answers.
  std::array<unique_fd, kept_socket_count> kept_;
};

/// A warden that several owners share, who may release it on any thread. It is
/// started soon.
/// @param on_lost As the constructor's.
std::shared_ptr<warden> start_warden(std::shared_ptr<reactor> loop,
                                     std::function<void()> on_lost);

} // namespace actorrun::detail
