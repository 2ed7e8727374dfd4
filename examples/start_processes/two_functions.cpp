// Calls a function twice, each in a process of its own, and adds up the
// returned values. Their output goes to files; standard error of the first one
// is also shown on the console.
//
// usage: two_functions

#include <actorrun/runtime/start_processes.hpp>
#include <cstdlib>
#include <iostream>
#include <string>

using namespace actorrun;
using core::std_streams;

const auto trainer
  = entry_point("trainer", [](std::string data, int steps) -> double {
      std::cout << "rank " << std::getenv("LOCAL_RANK") << " reads " << data
                << std::endl;
      auto loss = 8.0;
      for (auto step = 1; step <= steps; ++step) {
        loss /= 2;
        std::cerr << "step " << step << ": loss " << loss << std::endl;
      }
      return loss;
    });

int main(int argc, char** argv) {
  if (const auto code = run_as_worker(argc, argv))
    return *code; // This process was started to call the function.
  auto group = start_processes({
    .name = "trainer",
    .entrypoint = trainer,
    .args = {{0, {"first half", 2}}, {1, {"second half", 3}}},
    .envs = {{0, {{"LOCAL_RANK", "0"}}}, {1, {{"LOCAL_RANK", "1"}}}},
    .logs = {.redirects = {std_streams::all},
             .tees = {.by_rank = {{0, std_streams::err}}}},
  });
  if (!group) {
    std::cerr << "two_functions: " << group.error().text << "\n";
    return 1;
  }

  const auto result = (*group)->wait();
  if (result->is_failed()) {
    std::cerr << "two_functions: " << to_string(result->first_failure())
              << "\n";
    return 1;
  }
  auto sum = 0.0;
  for (const auto& [rank, loss] : result->return_values) {
    std::cout << "rank " << rank << " returned " << loss
              << ", its output is in " << result->stdouts.at(rank) << std::endl;
    sum += loss.get<double>();
  }
  return sum == 3.0 ? 0 : 1;
}
