// Owns an agent's log folders and the tailer that shows what workers write
// there.
#pragma once

#include "actors/core/workers/worker_outputs.hpp"
#include "actors/interfaces.hpp"
#include "actors/log.hpp"
#include "actors/ports/console.hpp"
#include "actors/ports/log_layout.hpp"
#include "actors/ports/log_reader.hpp"
#include "messages/ids.hpp"
#include "messages/result.hpp"
#include "runtime/logs/file_log_reader.hpp"
#include "runtime/logs/log_record.hpp"
#include "runtime/logs/posix_console.hpp"
#include "runtime/logs/torch_log_layout.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/task_thread.hpp"

#include <caf/fwd.hpp>

#include <functional>
#include <memory>
#include <mutex>
#include <string>

namespace actorrun::detail {

/// The configuration of one agent's logs.
struct node_logs_config {
  job_id job;
  core::log_options options;
  std::string role; ///< For labels, as the next.
  std::string host;
  std::shared_ptr<ports::log_layout> layout; ///< Null: torchrun's.
  std::shared_ptr<ports::console> console;   ///< Null: our own.
  log lines;
  std::string
    record_folder{}; ///< Where journals are; empty: no record is kept.
  agent_id agent{};  ///< For the record.
};

/// Ends a tailer, and does not wait long for one that a file system holds.
void end_tailer(caf::actor_system& system, const log_tailer_actor& tailer);

class node_logs {
public:
  /// Makes the first folders. There is no tailer, and nothing that it needs,
  /// unless output goes to files.
  /// @param system, loop Live longer.
  /// @retval errc::log_failed  a folder cannot be made, or what is in it not be
  ///         rotated; the text names it. Nothing is left of what was made.
  static result<std::unique_ptr<node_logs>> open(caf::actor_system& system,
                                                 std::shared_ptr<reactor> loop,
                                                 node_logs_config config);

  /// Ends the tailer, but does not wait long for one that a file system holds, and
  /// removes unused folders. No call is made from then on.
  /// @pre the workers have gone, and the callers of `flush`
  ~node_logs();

  node_logs(const node_logs&) = delete;
  node_logs& operator=(const node_logs&) = delete;

  /// Null: there are no files.
  const std::shared_ptr<ports::log_layout>& layout() const { return layout_; }

  /// Null: no line is shown.
  const log_tailer_actor& tailer() const { return tailer_; }

  /// For operators.
  const std::shared_ptr<ports::log_reader>& reader() const { return reader_; }

  /// Calls `on_flushed` once, on some thread, when the console has everything
  /// that the workers have written; however long that takes. A console of our
  /// own has written it by then. Call it once.
  void flush(std::function<void()> on_flushed);

  /// Whether bytes of a log file have just been given up on a full disk; for any
  /// thread, at any time.
  std::function<bool(const std::string& path)> full_disks() const;

  /// For what may hang with the file system that the logs are on.
  const std::shared_ptr<task_thread>& files() const { return files_; }

  /// The folder if it has files; else empty, as it is if it does not answer.
  std::string folder() const;

private:
  /// Waits for the flush; its owner may be gone by then.
  struct waiter {
    std::mutex mutex;
    std::function<void()> call;
    void operator()();
  };

  node_logs(caf::actor_system& system, node_logs_config config)
    : system_(system), config_(std::move(config)) {}

  result<void> make_folders();
  void spawn_tailer(std::shared_ptr<reactor> loop);
  void open_record();

  caf::actor_system& system_;
  node_logs_config config_;
  std::shared_ptr<torch_log_layout> folders_; ///< Null: the layout is another.
  std::shared_ptr<ports::log_layout> layout_;
  std::shared_ptr<posix_console> own_console_; ///< Null: it is not ours.
  log_tailer_actor tailer_;
  std::shared_ptr<task_thread> files_
    = std::make_shared<task_thread>("actorrun-files");
  std::shared_ptr<rotation_book> book_ = std::make_shared<rotation_book>();
  std::shared_ptr<log_recorder> recorder_; ///< Null: no record is kept.
  std::shared_ptr<ports::log_reader> reader_;
  std::shared_ptr<waiter> waiter_ = std::make_shared<waiter>();
};

} // namespace actorrun::detail
