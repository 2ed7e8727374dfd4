// Owns the members of a process context: actor system, reactor, process host,
// log tailer and the actor that owns them.
#pragma once

#include "actors/core/workers/worker_outputs.hpp"
#include "actors/process_owner.hpp"
#include "messages/result.hpp"
#include "runtime/logs/posix_console.hpp"
#include "runtime/logs/torch_log_layout.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/process_group/process_plan.hpp"
#include "runtime/process_group/process_tracker.hpp"
#include "runtime/start_processes.hpp"
#include "runtime/system_config.hpp"

#include <caf/actor_system.hpp>

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::detail {

/// @see process_context, which documents the functions
class process_group {
public:
  static result<std::unique_ptr<process_group>> start(process_options options);

  ~process_group();

  process_group(const process_group&) = delete;
  process_group& operator=(const process_group&) = delete;

  std::optional<processes_result>
  wait(std::optional<std::chrono::milliseconds> timeout);
  std::map<uint32_t, pid_t> pids() const;
  bool close(int signal, std::chrono::milliseconds timeout);

private:
  explicit process_group(process_options options);

  result<void> make_outputs();
  std::vector<std::string> prefixes() const;
  void spawn_tailer();
  worker_supervisor_config supervisor_config();
  void spawn_owner();
  result<void> await_starts();
  failure start_failure(const process_tracker::record& record,
                        uint32_t rank) const;
  processes_result result_of(group_ending ending) const;
  void add_returns(processes_result& result) const;
  void add_return(processes_result& result, uint32_t rank,
                  const process_tracker::record& record) const;
  void add_problem(processes_result& result, uint32_t rank,
                   const process_tracker::record& record,
                   std::string problem) const;
  void flush_logs();

  struct own_system {
    system_config config;
    caf::actor_system system{config};
  };

  process_options options_;
  std::unique_ptr<own_system> own_;
  caf::actor_system& system_;
  std::string host_;
  std::shared_ptr<reactor> loop_ = std::make_shared<reactor>();
  std::shared_ptr<process_tracker> tracker_
    = std::make_shared<process_tracker>();
  core::generation_plan plan_;
  core::generation_outputs outputs_;
  std::vector<call_files> files_;
  std::shared_ptr<torch_log_layout> folders_; ///< Null: the caller's layout.
  std::shared_ptr<posix_console> console_ = std::make_shared<posix_console>();
  std::shared_ptr<std::promise<void>> host_gone_
    = std::make_shared<std::promise<void>>();
  log_tailer_actor tailer_;
  process_owner_actor owner_;

  std::mutex mutex_; // Guards the rest.
  std::optional<processes_result> result_;
};

} // namespace actorrun::detail
