#include "cli/commands.hpp"
#include "cli/dry_run.hpp"
#include "cli/node_commands.hpp"
#include "cli/options/check_options.hpp"
#include "cli/report/exit_code.hpp"
#include "cli/version.hpp"
#include "runtime/program_end.hpp"

#include <csignal>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

using namespace actorrun;
using namespace actorrun::cli;

namespace {

struct dispatcher {
  int operator()(const run_arguments& x) const { return run(x); }

  int operator()(const hosts_arguments& x) const { return run_on_hosts(x); }

  int operator()(const dry_run_arguments& x) const { return show_plan(x); }

  int operator()(const help& x) const {
    std::cout << x.text;
    return 0;
  }

  int operator()(const version&) const {
    print_version("actorrun", ACTORRUN_VERSION);
    return 0;
  }
};

} // namespace

int main(int argc, char** argv) {
  // Ignored, as by `trap '' CHLD` of a caller, it would take the exit codes of all child
  // processes.
  ::signal(SIGCHLD, SIG_DFL);
  end_without_resources(static_cast<int>(exit_code::machine_refused));
  if (argc == 2 && std::string_view{argv[1]} == agent_word)
    return run_by_order();
  if (argc > 2 && std::string_view{argv[1]} == node_check_word)
    check_node(std::vector<std::string>{argv + 2, argv + argc});
  const auto words = std::vector<std::string>{argv + 1, argv + argc};
  const auto command
    = parse_run(words, this_process(), argc > 0 ? argv[0] : "");
  return command
           ? code_after_output(std::visit(dispatcher{}, *command), "actorrun")
           : refuse_to_run(command.error(), words);
}
