// Owns the processes that connect to the agents of a job, and runs what
// `core::host_launch` decides.
#pragma once

#include "actors/core/hosts/host_launch.hpp"
#include "runtime/host_agents.hpp"
#include "runtime/hosts/console_relay.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/processes/program.hpp"
#include "runtime/processes/spawn.hpp"

#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace actorrun::detail {

/// What is left in the pipes of a process that has ended comes at once. A process
/// that it leaves behind, such as ssh with ControlPersist, may keep them
/// open.
inline constexpr auto drain_max = std::chrono::milliseconds{500};

/// On the reactor's thread only, unless it says otherwise.
class host_starter {
public:
  host_starter(std::shared_ptr<reactor> loop, host_agents_options options);

  /// Kills what runs.
  ~host_starter();

  host_starter(const host_starter&) = delete;
  host_starter& operator=(const host_starter&) = delete;

  /// Starts all processes.
  /// @retval errc::…  see `host_agents::start`; those started so far are killed
  result<void> start();

  void signal(int number, bool ends);

  /// Ready when all is over; take it once, on any thread.
  std::future<core::end_launch> ending() { return ending_.get_future(); }

private:
  struct host {
    pid_t pid = 0;
    unique_fd pidfd{}; ///< Empty: the process has been reaped.
    unique_fd in{};
    std::string to_write{};
    bool awaits_room = false; ///< `in` is watched.
    std::unique_ptr<relayed_stream> out{};
    std::unique_ptr<relayed_stream> err{};
    std::optional<core::agent_greeting> greeting{};
    std::optional<core::host_ended> ended{}; ///< Reported when all is read.
    bool is_reported = false;
    bool is_dropped = false;
  };

  struct effect_runner;

  result<void> start_one(core::host_index i, program_finder& finder);
  std::unique_ptr<relayed_stream> relay(core::host_index i, unique_fd fd,
                                        core::output_stream to);
  bool on_line(core::host_index i, std::string_view line);
  void on_exit(core::host_index i);
  void drain_later(core::host_index i);
  void report_end(core::host_index i);
  void await_console(core::output_stream which);
  void on_console_ready(core::output_stream which);
  void send(core::host_index i, std::string_view bytes);
  void write_some(core::host_index i);
  void give(const core::give_order& x);
  void drop(core::host_index i);
  void later(reactor::task fn);
  void step_later(core::host_event event);
  void step(const core::host_event& event);
  void arm();

  std::shared_ptr<reactor> shared_loop_; ///< With calls of other threads.
  reactor& loop_;
  host_agents_options options_;
  core::host_launch launch_;
  spawner spawner_;
  std::deque<host> hosts_; ///< Never moved: handlers refer to them by place.
  reactor::timer alarm_ = 0;
  std::promise<core::end_launch> ending_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

} // namespace actorrun::detail
