#include "cli/bundle_command.hpp"
#include "cli/commands.hpp"
#include "cli/journal_commands.hpp"
#include "cli/log_commands.hpp"
#include "cli/node_commands.hpp"
#include "cli/report/exit_code.hpp"
#include "cli/steer_command.hpp"
#include "cli/top/command.hpp"
#include "cli/version.hpp"
#include "runtime/program_end.hpp"

#include <csignal>
#include <iostream>

using namespace actorrun;
using namespace actorrun::cli;

namespace {

struct dispatcher {
  int operator()(const status_arguments& x) const { return show_status(x); }

  int operator()(const top_arguments& x) const { return top::run(x); }

  int operator()(const coordinator_arguments& x) const {
    return host_coordinator(x);
  }

  int operator()(const secret_arguments& x) const { return make_secret(x); }

  int operator()(const journal_arguments& x) const { return show_journal(x); }

  int operator()(const why_arguments& x) const { return explain_job(x); }

  int operator()(const replay_arguments& x) const { return replay(x); }

  int operator()(const nodes_arguments& x) const { return show_nodes(x); }

  int operator()(const check_arguments& x) const { check_node(x); }

  int operator()(const bundle_arguments& x) const { return make_bundle(x); }

  int operator()(const time_arguments& x) const { return show_time(x); }

  int operator()(const steer_arguments& x) const { return steer_job(x); }

  int operator()(const logs_arguments& x) const { return show_logs(x); }

  int operator()(const stacks_arguments& x) const { return show_stacks(x); }

  int operator()(const help& x) const {
    std::cout << x.text;
    return 0;
  }

  int operator()(const version&) const {
    print_version("actorctl", ACTORRUN_VERSION);
    return 0;
  }
};

} // namespace

int main(int argc, char** argv) {
  // Ignored, as by `trap '' CHLD` of a caller, it would take the exit codes of all child
  // processes.
  ::signal(SIGCHLD, SIG_DFL);
  end_without_resources(static_cast<int>(exit_code::machine_refused));
  const auto command = parse_control({argv + 1, argv + argc}, this_process());
  return command
           ? code_after_output(std::visit(dispatcher{}, *command), "actorctl")
           : fail(command.error(), "actorctl");
}
