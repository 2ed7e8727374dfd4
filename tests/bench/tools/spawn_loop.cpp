// The limit of every launcher: starts N processes and only waits for them.
// `spawn_loop N PROGRAM [ARGUMENTS…]`

#include <cstdlib>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 3)
    return EXIT_FAILURE;
  auto pids = std::vector<pid_t>(std::strtoul(argv[1], nullptr, 10));
  for (auto& pid : pids)
    if (::posix_spawnp(&pid, argv[2], nullptr, nullptr, argv + 2, environ) != 0)
      return EXIT_FAILURE;
  auto code = EXIT_SUCCESS;
  for (const auto pid : pids) {
    auto status = 0;
    if (::waitpid(pid, &status, 0) != pid || status != 0)
      code = EXIT_FAILURE;
  }
  return code;
}
