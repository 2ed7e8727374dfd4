// Starts processes: executed, forked, or forked by a server.
#pragma once

#include "actors/ports/process_host.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/processes/fork_server_process.hpp"
#include "runtime/processes/forked_starts.hpp"
#include "runtime/processes/output_files.hpp"
#include "runtime/processes/program.hpp"
#include "runtime/processes/spawn.hpp"
#include "runtime/processes/started_process.hpp"
#include "runtime/processes/warden.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <sys/types.h>

namespace actorrun::detail {

/// Lives on the reactor's thread.
class process_starter {
public:
  using id = forked_starts::id;
  using callback = forked_starts::callback;
  using note_handler = std::function<void(const std::string&)>;

  process_starter(reactor& loop, warden& guard, note_handler on_note);

  /// Abandons all starts without callbacks, ends the servers.
  ~process_starter();

  process_starter(const process_starter&) = delete;
  process_starter& operator=(const process_starter&) = delete;

  /// The outputs of the next batch. Call it once per batch, before its first
  /// start: programs are searched again from then on.
  output_files begin_batch();

  /// Calls `done` once: before it returns for a program that is executed, at
  /// any time for other methods.
  /// @param fire_count See `warden::enlist`.
  /// @param outputs Of the batch; stay until `done` is called.
  /// @returns 0 if `done` has been called
  id start(ports::process_spec spec, uint64_t fire_count, output_files& outputs,
           callback done);

  /// Abandons a start: its callback gets ECANCELED before this returns. Does
  /// nothing if it has been called.
  void give_up(id which) { forks_.give_up(which); }

private:
  struct server_answer {
    std::shared_ptr<fork_server_process> server{};
    int error = 0;
    std::string subject{};
  };

  started_process execute(const ports::process_spec& spec, uint64_t fire_count,
                          output_files& outputs);
  server_answer server_for(const ports::process_spec& spec);

  reactor& loop_;
  warden& guard_;
  note_handler on_note_;
  unique_fd null_;
  spawner spawner_;
  program_finder programs_;
  forked_starts forks_;
  /// By the name of the program. Behind the starts: these know their servers.
  std::map<std::string, std::shared_ptr<fork_server_process>> servers_;
};

} // namespace actorrun::detail
