#include "cli/commands.hpp"

#include <iostream>

using namespace actorrun;
using namespace actorrun::cli;

namespace {

struct dispatcher {
  int operator()(const run_arguments& x) const { return run(x); }

  int operator()(const help& x) const {
    std::cout << x.text;
    return 0;
  }

  int operator()(const version&) const {
    std::cout << "actorrun " ACTORRUN_VERSION "\n";
    return 0;
  }
};

} // namespace

int main(int argc, char** argv) {
  const auto command = parse_run({argv + 1, argv + argc}, this_process(),
                                 argc > 0 ? argv[0] : "");
  return command ? std::visit(dispatcher{}, *command)
                 : fail(command.error(), "actorrun");
}
