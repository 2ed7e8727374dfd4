// Calls `run_as_worker` where its workers never get, as a program might by
// mistake: tests run it and check the result.
//
// usage: forgetful_program spawn|fork_server [quiet]
//
// quiet: a worker in the wrong place reports and admits nothing.

#include "runtime/start_processes.hpp"

#include <cstdlib>
#include <iostream>
#include <string_view>

using namespace actorrun;

const auto nothing = entry_point("nothing", [] {});

int main(int argc, char** argv) {
  // The mistake: a worker finds the variable.
  if (std::getenv("FORGET") == nullptr)
    if (const auto code = run_as_worker(argc, argv))
      return *code;
  const auto method = argc > 1 && std::string_view{argv[1]} == "fork_server"
                        ? start_method::fork_server
                        : start_method::spawn;
  auto group = start_processes({.entrypoint = nothing,
                                .args = {{0, {}}},
                                .envs = {{0, {{"FORGET", "1"}}}},
                                .method = method});
  if (!group && argc > 2)
    return 0;
  if (!group) {
    std::cerr << "refused: " << group.error().text << std::endl;
    return 3;
  }
  const auto result = (*group)->wait();
  if (!result->is_failed())
    return 0;
  std::cerr << "failed: " << result->first_failure().details.message
            << std::endl;
  return 4;
}
