// Owns the starts of forked workers until each worker runs or has failed.
#pragma once

#include "actors/ports/process_host.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/processes/fork_server_process.hpp"
#include "runtime/processes/forked_child.hpp"
#include "runtime/processes/start_thread.hpp"
#include "runtime/processes/started_process.hpp"
#include "runtime/processes/warden.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>

namespace actorrun::detail {

/// At most this many starts at a time; others wait and hold no descriptors.
inline constexpr size_t forks_under_way_max = 16;

/// Timeout for a worker to be ready. A fork server may have to load a large
/// program first, so this only ends a hang.
inline constexpr auto fork_answer_max = std::chrono::seconds{60};

/// A forked worker reports when it is ready, is put into the warden's table,
/// and may run then. The reactor does not wait for it; but a fork of this
/// program takes longer the more memory it has.
///
/// Lives on the reactor's thread.
class forked_starts {
public:
  using id = uint64_t;
  using callback = std::function<void(started_process)>;

  struct order {
    ports::process_spec spec;
    uint64_t fire_count = 0; ///< See `warden::enlist`.
    std::shared_ptr<start_batch> batch{};
    /// For `start_method::fork_server`.
    std::shared_ptr<fork_server_process> server{};
  };

  /// @param files      Opens outputs; lives longer.
  /// @param answer_max See `fork_answer_max`.
  forked_starts(reactor& loop, warden& guard, start_thread& files,
                core::duration answer_max = fork_answer_max);

  /// Gives up all starts without callbacks, and waits for the end of their
  /// processes.
  /// @pre no server is left but those in orders
  ~forked_starts();

  forked_starts(const forked_starts&) = delete;
  forked_starts& operator=(const forked_starts&) = delete;

  /// Calls `done` once, perhaps before it returns.
  /// @returns 0 if it has called it
  id start(order what, callback done);

  /// Abandons a start: its callback gets ECANCELED before this returns. Does
  /// nothing if it has been called.
  void give_up(id which);

  /// A server has ended: its workers that exist already can go on.
  void server_ended();

private:
  struct pending {
    order what;
    callback done; // Empty: given up.
    unique_fd handshake{};
    warden::registration place{};
    pid_t pid = 0;
    unique_fd pidfd{};
    reactor::timer timeout = 0;
    bool ready = false;
    bool is_confirmed = false; // By the process that made it.
  };

  void pump();
  void begin(id which, pending& x);
  void go_on(id which, const open_outputs& outputs);
  int make(pending& x, const child_files& files, int handshake);
  void on_report(id which);
  void on_timeout(id which);
  bool may_run(const pending& x) const;
  void let_run(id which, pending& x);
  void fail(id which, pending& x, int error);
  void conclude(id which, pending& x, started_process result);
  void report(pending& x, started_process result);
  void forget(id which, pending& x);

  reactor& loop_;
  warden& guard_;
  start_thread& files_;
  core::duration answer_max_;
  id last_ = 0;
  std::deque<id> waiting_;
  std::map<id, pending> starts_; // Those that wait, too.
  size_t under_way_count_ = 0;
  bool pumps_ = false;
};

} // namespace actorrun::detail
