#include "cli/node_commands.hpp"

#include "cli/asked_job.hpp"
#include "cli/commands.hpp"
#include "cli/program.hpp"
#include "cli/report/exit_code.hpp"
#include "cli/report/nodes_view.hpp"
#include "messages/formatted.hpp"
#include "runtime/node_check.hpp"
#include "runtime/status.hpp"

#include <algorithm>
#include <iostream>

namespace actorrun::cli {

namespace {

result<std::vector<v1::JobStatus>> ask_for_nodes(const asked_job& job) {
  if (!job.remote) {
    auto here = cli::ask_here(job.local, status_limit);
    return here ? result<std::vector<v1::JobStatus>>{std::move(here->jobs)}
                : here.error();
  }
  auto status = ask_status(*job.remote, status_limit);
  if (!status)
    return status.error();
  return std::vector<v1::JobStatus>{std::move(*status)};
}

} // namespace

int show_nodes(const nodes_arguments& arguments) {
  const auto& job = arguments.job;
  const auto found = ask_for_nodes(job);
  if (!found)
    leave(fail_to_reach(found.error(), job));
  if (found->empty() && !job.local.empty()) {
    std::cerr << formatted("actorctl: no job '{}' of this user runs on this "
                           "host\n  try: actorctl status, which lists those "
                           "that do\n",
                           job.local);
    leave(static_cast<int>(exit_code::rendezvous_failed));
  }
  std::cout << (arguments.json ? nodes_to_json(*found) : nodes_to_text(*found));
  leave(code_after_output(
    found->empty() ? static_cast<int>(exit_code::rendezvous_failed) : 0,
    operator_program));
}

// A driver that hangs in its exit handlers has nothing more to say.
void check_node(const check_arguments& arguments) {
  const auto found = run_node_check(
    arguments.which, arguments.folders,
    [](const std::string& line) { std::cout << line << std::endl; });
  if (found)
    leave(code_after_output(0, operator_program));
  std::cerr << found.error().text << std::endl;
  leave(static_cast<int>(exit_code::workers_failed));
}

void check_node(const std::vector<std::string>& words) {
  const auto which = core::find_built_in(words.front());
  if (!which) {
    std::cerr << formatted("there is no built-in check '{}'\n", words.front());
    leave(static_cast<int>(exit_code::bad_arguments));
  }
  check_node(check_arguments{*which, {words.begin() + 1, words.end()}});
}

} // namespace actorrun::cli
