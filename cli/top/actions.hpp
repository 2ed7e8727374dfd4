// Lists what an operator can do with a row of the live view, and by which key.
#pragma once

#include "cli/actorctl_arguments.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::cli::top {

/// What the selected row is about.
struct target {
  std::string job;                      ///< Its id.
  std::optional<std::string> agent{};   ///< None: the whole job.
  std::optional<std::string> host{};    ///< Of the agent.
  std::optional<uint32_t> rank{};       ///< Of the worker, if it has one.
  std::optional<uint32_t> local_rank{}; ///< None: the whole node.
};

/// On which rows a key works.
struct action_scope {
  bool jobs = false;
  bool nodes = false;
  bool workers = false;
};

struct action {
  char key = 0;     ///< None of the view's own (`own_keys`).
  std::string name; ///< A verb and its object, for the help.
  action_scope on{};
  /// It writes to the terminal itself, until it returns; the view comes back after
  /// a key.
  bool takes_terminal = false;
  /// What was done, or why not, in one line. May block for a few seconds.
  std::function<std::string(const target&)> run;
};

/// Those of this program.
std::vector<action> bound_actions(const top_arguments& arguments);

} // namespace actorrun::cli::top
