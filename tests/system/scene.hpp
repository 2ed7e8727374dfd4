// Owns all resources of one test case: a folder, a port, the started programs,
// and the records of their workers. None of them outlives the test case.
#pragma once

#include "messages/ids.hpp"
#include "tests/system/program.hpp"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::test {

using json = nlohmann::json;
using words = std::vector<std::string>;

/// A TCP port without a listener that the system does not assign itself.
uint16_t free_port();

/// CLOCK_MONOTONIC in ns, as in the workers' stamps.
int64_t now_ns();

/// The record of one worker process.
struct worker_record {
  std::string kind; ///< `worker`, or `child` or `stray` of one.
  pid_t pid = 0;
  uint64_t generation = 0; ///< Its token.
  uint64_t number = 0;     ///< Of the generation, as people see it.
  uint32_t rank = 0;
  uint32_t local_rank = 0;
  uint32_t node_rank = 0;
  uint32_t world_size = 0;
  uint32_t local_world_size = 0;
  uint32_t restart_count = 0;
  std::string master_address;
  uint16_t master_port = 0;
  std::string job;
  std::string descriptors; ///< `0,1,2`
  std::string survivors;   ///< `0-2,5-5`
  int64_t start_ns = 0;    ///< Its start.
  int64_t last_ns = 0;     ///< Its last stamp, to 5 ms.
};

using worker_records = std::vector<worker_record>;

/// How an agent is started. What all agents of a job share comes first.
struct agent_options {
  std::string nodes = "2";
  uint32_t restart_count_max = 0;
  std::string job = "job";
  uint32_t slots = 2;
  bool host = false; ///< Hosts the coordinator; the first agent always does.
  std::string conf = {};     ///< More of `--rdzv-conf`, begins with a comma.
  words more = {};           ///< More options.
  words worker = {};         ///< Options of the stamping worker.
  words command = {};        ///< Another program instead of it.
  words prefix = {};         ///< Words in front of actorrun.
  std::string endpoint = {}; ///< If empty, the port of the scene on loopback.
  std::map<std::string, std::string> environment = {};
};

class scene {
public:
  scene();

  scene(const scene&) = delete;
  scene& operator=(const scene&) = delete;

  /// Ends all programs; checks that no process is left.
  ~scene();

  /// The folder of this scene.
  const std::string& folder() const { return folder_; }

  uint16_t port() const { return port_; }

  /// `127.0.0.1:<port>`
  std::string endpoint() const;

  /// Starts a program with a clean environment and the given variables.
  program& start(words command,
                 const std::map<std::string, std::string>& variables = {});

  /// Starts actorrun with these arguments.
  program& run(words arguments,
               const std::map<std::string, std::string>& variables = {});

  /// Starts an agent whose workers are stamping workers.
  program& agent(const agent_options& x);

  /// Starts `actorctl coordinator` at the scene's endpoint.
  program& coordinator(const agent_options& x);

  /// What programs get, without variables of their own.
  const std::map<std::string, std::string>& environment() const {
    return environment_;
  }

  /// All started programs, in order.
  std::deque<program>& programs() { return programs_; }

  /// Starts a program, waits for its end and returns its output.
  std::string read(words command, int* code = nullptr,
                   milliseconds limit = timeout);

  /// `actorctl status --json`, of the job or of all.
  json status_of_all();

  /// The first job; null if there is none.
  json status();

  /// Waits for a status that satisfies `condition`; fails the test otherwise.
  template <class Condition>
  json await_status(Condition condition, milliseconds limit = timeout) {
    auto last = json{};
    const auto is_so = [&] {
      last = status();
      return last.is_object() && condition(last);
    };
    require(eventually(is_so, limit), "the status becomes: " + last.dump());
    return last;
  }

  /// The records of all processes that have ever stamped here.
  worker_records records() const;

  /// Waits until the newest generation is newer than `generation` and has `count`
  /// running workers, all of its world; fails the test otherwise.
  /// @returns them by rank
  worker_records await_world(uint32_t count, uint64_t generation = 0,
                             milliseconds limit = timeout);

  /// The workers (no children) of a generation by rank.
  worker_records workers_of(uint64_t generation) const;

  /// The current record of a process.
  worker_record record_of(pid_t pid) const;

  /// The same processes with their current stamps.
  worker_records records_of(const worker_records& workers) const;

  /// Orders a worker to exit with this code.
  void order_exit(pid_t pid, int code);

  /// Orders all workers to exit with 0.
  void order_end();

  /// Writes a file of the scene. @returns its path
  std::string write(const std::string& name, const std::string& text,
                    bool executable = false);

  /// Fails the test case with `what` unless `holds`.
  static void require(bool holds, const std::string& what);

private:
  std::string folder_;
  uint16_t port_;
  std::map<std::string, std::string> environment_;
  std::deque<program> programs_;
  bool has_host_ = false;
};

/// Waits until none of the processes is alive.
bool all_dead(const worker_records& workers, milliseconds limit = timeout);

/// The pids by rank.
std::vector<pid_t> pids_of(const worker_records& workers);

/// The latest of the last stamps, and the earliest of the first.
int64_t last_of(const worker_records& workers);
int64_t first_of(const worker_records& workers);

} // namespace actorrun::test
