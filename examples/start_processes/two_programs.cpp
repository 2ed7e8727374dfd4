// Starts `echo` twice. The first one's output goes to a file, the second one's
// to the console.
//
// usage: two_programs

#include <actorrun/runtime/start_processes.hpp>
#include <fstream>
#include <iostream>
#include <string>

using namespace actorrun;
using core::std_streams;

int main() {
  auto group = start_processes({
    .name = "greeter",
    .entrypoint = "echo",
    .args = {{0, {"hello", "file"}}, {1, {"hello", "console"}}},
    .envs = {{0, {}}, {1, {}}},
    .logs = {.redirects = {.by_rank = {{0, std_streams::out}}}},
  });
  if (!group) {
    std::cerr << "two_programs: " << group.error().text << "\n";
    return 1;
  }

  const auto result = (*group)->wait();
  if (result->is_failed()) {
    std::cerr << "two_programs: " << to_string(result->first_failure()) << "\n";
    return 1;
  }
  auto line = std::string{};
  std::getline(std::ifstream{result->stdouts.at(0)}, line);
  std::cout << result->stdouts.at(0) << " holds: " << line << std::endl;
  return line == "hello file" && result->stdouts.at(1).empty() ? 0 : 1;
}
