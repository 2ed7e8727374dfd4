// Does what may block in a start on a thread of its own: finding and executing
// programs, opening their outputs.
#pragma once

#include "actors/core/workers/worker_outputs.hpp"
#include "actors/ports/process_host.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/task_thread.hpp"
#include "runtime/os/unique_fd.hpp"
#include "runtime/processes/output_files.hpp"
#include "runtime/processes/program.hpp"
#include "runtime/processes/started_process.hpp"
#include "runtime/processes/warden.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>

namespace actorrun::detail {

/// What could not be used when a program was not executed.
/// @param path  Where it was found.
/// @param error errno of the failure.
std::string subject_of_failure(const ports::process_spec& spec,
                               const std::string& path, int error);

/// What the starts of one batch share. Used on the thread only, but `cgroup`.
struct start_batch {
  explicit start_batch(unique_fd& null) : outputs(null) {}

  /// Where its processes start; null: beside this one. Set before the first.
  std::shared_ptr<worker_cgroup> cgroup;

  output_files outputs;
  program_finder programs{};
};

/// A program on a file system that hangs blocks this thread and no other: workers
/// that run can still be signalled, and leases are kept. A death signal is bound
/// to the thread that starts a child, so every executed worker is started here.
///
/// All calls are made on the reactor's thread and return at once; all callbacks
/// are called there.
class start_thread {
public:
  using id = uint64_t;
  using callback = std::function<void(started_process)>;

  /// @param loop Lives longer.
  explicit start_thread(reactor& loop);

  /// @pre `end` was called
  ~start_thread();

  start_thread(const start_thread&) = delete;
  start_thread& operator=(const start_thread&) = delete;

  /// From here on programs are searched again, and files are emptied again.
  std::shared_ptr<start_batch> begin_batch();

  /// Executes a program, after all earlier starts.
  /// @param place Where the child enters itself.
  /// @param done  Called once, not before this returns.
  id execute(std::shared_ptr<start_batch> in, ports::process_spec spec,
             warden::registration place, callback done);

  /// Abandons a start that has not begun: its callback gets ECANCELED before this
  /// returns. One that has begun goes on.
  void give_up(id which);

  /// Opens the outputs of a process that is not executed.
  void open(std::shared_ptr<start_batch> in, core::stream_target out,
            core::stream_target err, std::function<void(open_outputs)> done);

  /// Calls `note` if outputs of the batch could not be opened, and says which.
  void complain(std::shared_ptr<start_batch> in,
                std::function<void(const std::string&)> note);

  /// Abandons what has not begun without callbacks, and waits for what has, but
  /// not for long. Its callbacks are called before this returns, the last ones.
  /// @param places What a start that hangs still uses: then it is kept alive as
  ///               long as the program.
  void end(std::shared_ptr<void> places);

private:
  struct home;
  struct order;

  struct pending {
    std::shared_ptr<order> what;
    callback done;
  };

  void conclude(id which, started_process result);

  std::shared_ptr<home> home_; ///< The thread shares it.
  task_thread thread_{"actorrun-starts"};
  id last_ = 0;
  std::map<id, pending> starts_;
};

} // namespace actorrun::detail
