// Lists what an operator can do with a row of the live view, by which key, and what
// that asks of the job.
#pragma once

#include "cli/actorctl_arguments.hpp"

#include "messages/job.pb.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::cli::top {

/// What the selected row is about.
struct target {
  std::string job;                    ///< Its id.
  int64_t pid = 0;                    ///< Of the process that is asked; 0: any.
  std::optional<std::string> agent{}; ///< None: the whole job.
  std::string host{};                 ///< Of the agent.
  std::optional<uint32_t> node_rank{};  ///< Of the agent, if it has one.
  std::optional<uint32_t> local_rank{}; ///< None: the whole node.
  /// Global ranks of the worker, or of the node's workers; none: it has no place.
  std::vector<uint32_t> ranks{};
};

/// On which rows a key works. What is for a job or a node works on the rows below
/// it, too.
struct action_scope {
  bool jobs = false;
  bool nodes = false;
  bool workers = false;
};

enum class verb : uint8_t { show_log, show_stack, drain, restart, log_level };

struct action {
  char key = 0;     ///< None of the view's own (`own_keys`).
  std::string name; ///< A verb and its object, for the help.
  action_scope on{};
  verb what = verb::show_log;
};

/// Those of this program.
std::vector<action> bound_actions();

/// Whether it changes what the job does, so that the operator is asked first.
bool is_steering(verb x);

/// `rank 3 (n2)`, `node 1 (n2)`, `job job1`.
std::string name_of(const target& x);

/// What is about to be done, and what it costs; for the question.
/// @param level As `parse_log_level` gives it; of `verb::log_level` only.
/// @param job   As it is now; null: that is not known.
std::string purpose_of(verb what, const target& x, const std::string& level,
                       const v1::JobStatus* job);

/// @pre `is_steering(what)`
v1::OperatorRequest request_of(verb what, const target& x,
                               const std::string& level);

/// The last lines of its output, and those that follow.
logs_arguments log_of(const target& x);

} // namespace actorrun::cli::top
