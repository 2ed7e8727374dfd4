// Starts processes: executed, forked, or forked by a server.
#pragma once

#include "actors/ports/process_host.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/processes/fork_server_process.hpp"
#include "runtime/processes/forked_starts.hpp"
#include "runtime/processes/spawn.hpp"
#include "runtime/processes/start_thread.hpp"
#include "runtime/processes/started_process.hpp"
#include "runtime/processes/warden.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace actorrun::detail {

/// Lives on the reactor's thread.
class process_starter {
public:
  /// Names one start that is under way.
  struct id {
    ports::start_method how = ports::start_method::exec;
    uint64_t number = 0; ///< 0 names none.
  };

  using callback = std::function<void(started_process)>;
  using note_handler = std::function<void(const std::string&)>;

  process_starter(reactor& loop, warden& guard, note_handler on_note);

  /// Abandons all starts without callbacks, ends the servers.
  /// @pre `end` was called
  ~process_starter();

  process_starter(const process_starter&) = delete;
  process_starter& operator=(const process_starter&) = delete;

  /// What the starts of the next batch share. Call it once per batch, before its
  /// first start: programs are searched again from then on.
  std::shared_ptr<start_batch> begin_batch();

  /// Calls `done` once, perhaps before it returns.
  /// @param fire_count See `warden::enlist`.
  /// @returns none if `done` has been called
  id start(ports::process_spec spec, uint64_t fire_count,
           std::shared_ptr<start_batch> batch, callback done);

  /// Abandons a start: its callback gets ECANCELED before this returns, unless
  /// its program is being executed. Does nothing if it has been called.
  void give_up(id which);

  /// Logs which outputs of the batch could not be opened.
  void complain(std::shared_ptr<start_batch> batch);

  /// Ends the thread on which programs are executed; see `start_thread::end`.
  void end(std::shared_ptr<void> places) { thread_.end(std::move(places)); }

private:
  struct server_answer {
    std::shared_ptr<fork_server_process> server{};
    int error = 0;
    std::string subject{};
  };

  server_answer server_for(const ports::process_spec& spec);

  reactor& loop_;
  warden& guard_;
  note_handler on_note_;
  start_thread thread_;
  /// For servers alone: who orders them, `start_processes`, holds no lease.
  std::optional<spawner> server_spawner_;
  forked_starts forks_;
  /// By the name of the program. Behind the starts: these know their servers.
  std::map<std::string, std::shared_ptr<fork_server_process>> servers_;
};

} // namespace actorrun::detail
