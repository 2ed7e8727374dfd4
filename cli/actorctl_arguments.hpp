// Reads the command line of `actorctl`, or reports what is wrong with it.
#pragma once

#include "actors/core/checks/built_in.hpp"
#include "actors/core/logs/log_selection.hpp"
#include "cli/actorrun_arguments.hpp"
#include "cli/options/moments.hpp"

#include "messages/operator.pb.h"

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace actorrun::cli {

/// `actorctl status`: print the status of jobs.
struct status_arguments {
  bool json = false;
  bool wide = false;          ///< Show each worker in the text.
  std::string job;            ///< Of this host; empty: all of them.
  std::string journal_folder; ///< Of jobs that have ended; empty: nowhere.
  /// Asked instead of this host's jobs. Valid, with a rendezvous; only what is
  /// needed to find the job is set.
  std::optional<job_options> remote;
};

/// `actorctl coordinator`: host a job's coordinator, without workers.
struct coordinator_arguments {
  /// Valid, with a rendezvous; the place is `here`, unless it has `succession`: then
  /// this is a witness.
  job_options job;
  std::string local_address; ///< Of a witness; empty: detected.
  std::vector<std::string> warnings;
  http_options http{};
};

/// `actorctl secret create`: make this user's secret.
struct secret_arguments {
  std::string path; ///< Of the new file; absolute.
  bool replaces = false;
};

/// Which journal to read.
struct journal_subject {
  std::string folder; ///< Where journals are.
  std::string name;   ///< A job, or a path with a slash; empty: the newest.
  /// Its coordinator is asked for its journal. Valid, with a rendezvous.
  std::optional<job_options> remote{};
};

/// `actorctl journal`: print what has happened in a job.
struct journal_arguments {
  journal_subject what;
  bool json = false;
  bool follow = false;
  std::optional<given_moment> since{}; ///< None: from the beginning.
  std::optional<given_moment> until{}; ///< None: to the end.
  std::string node{}; ///< Host, agent or node rank; empty: all.
};

/// `actorctl why`: explain a job.
struct why_arguments {
  journal_subject what;
  bool json = false;
  bool all = false; ///< Every generation.
};

/// `actorctl top`: watch jobs.
struct top_arguments {
  std::string job;            ///< Of this host; empty: all of them.
  std::string journal_folder; ///< Of jobs that have ended; empty: nowhere.
  bool once = false;          ///< Print one picture.
  /// Watched instead of this host's jobs. Valid, with a rendezvous.
  std::optional<job_options> remote;
};

/// `actorctl replay`: show a job as it was.
struct replay_arguments {
  journal_subject what;
  std::optional<given_moment> at; ///< None: the end.
};

/// `actorctl time`: account for the time of a job.
struct time_arguments {
  journal_subject what;
  bool json = false;
  std::optional<double> node_price; ///< Per hour.
};

/// Which job to ask.
struct asked_job {
  std::string local; ///< Of this host; empty: the only one.
  /// Asked instead; as in `status_arguments`.
  std::optional<job_options> remote;
};

/// `actorctl drain`, `resize`, `restart`, `stop`, `exclude`, `include`, `lead`,
/// `elect`, `loglevel`: change what a job does.
struct steer_arguments {
  v1::OperatorRequest request; ///< One of those that steer.
  asked_job job;
  bool is_confirmed = false; ///< No question is asked.
};

/// `actorctl logs`: print what workers have written to log files.
struct logs_arguments {
  asked_job job;
  core::log_selection what;                       ///< Without `since_ms`.
  std::optional<std::chrono::milliseconds> since; ///< Before now.
  std::string node;
  std::string journal_folder{}; ///< Of jobs that have ended; empty: nowhere.
};

/// `actorctl stacks`: print where workers are.
struct stacks_arguments {
  asked_job job;
  std::vector<uint32_t> ranks; ///< Empty: all.
  bool json = false;
};

/// `actorctl nodes`: print every node of jobs.
struct nodes_arguments {
  asked_job job; ///< Empty: all of this host.
  bool json = false;
};

/// `actorctl check`: check this node.
struct check_arguments {
  core::built_in_check which = core::built_in_check::disk;
  std::vector<std::string> folders{}; ///< For `disk`.
};

/// `actorctl bundle`: pack what is known of a job into one file.
struct bundle_arguments {
  std::string job;    ///< Its id; empty: the only one, or the last.
  std::string output; ///< Path of the file; empty: named by job and time.
  std::string journal_folder;   ///< Empty: nowhere.
  std::optional<uint32_t> tail; ///< Lines of each output of a worker.
};

using control_command
  = std::variant<status_arguments, coordinator_arguments, secret_arguments,
                 journal_arguments, why_arguments, replay_arguments,
                 time_arguments, steer_arguments, logs_arguments,
                 stacks_arguments, top_arguments, bundle_arguments,
                 nodes_arguments, check_arguments, help, version>;

/// @param words Without the program's name.
/// @retval errc::bad_argument  a command or option is unknown, wrong, missing or
///         at odds with another; the text names it
result<control_command> parse_control(const std::vector<std::string>& words,
                                      const host_facts& world);

} // namespace actorrun::cli
