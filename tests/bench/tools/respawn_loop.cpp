// The limit of every restart: N processes; when one ends, kills the others,
// waits for them and starts all again. `respawn_loop N PROGRAM [ARGUMENTS…]`
// Sets ACTORRUN_GENERATION to the number of the round.

#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

bool start(std::vector<pid_t>& pids, char** arguments) {
  for (auto& pid : pids)
    if (::posix_spawnp(&pid, arguments[0], nullptr, nullptr, arguments, environ)
        != 0)
      return false;
  return true;
}

// The first death, which was not ordered, then the ordered ones.
void await_first_death() {
  auto info = siginfo_t{};
  ::waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
}

void stop(const std::vector<pid_t>& pids) {
  for (const auto pid : pids)
    ::kill(pid, SIGKILL);
  for (const auto pid : pids)
    ::waitpid(pid, nullptr, 0);
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3)
    return EXIT_FAILURE;
  auto pids = std::vector<pid_t>(std::strtoul(argv[1], nullptr, 10));
  for (auto generation = 1;; ++generation) {
    ::setenv("ACTORRUN_GENERATION", std::to_string(generation).c_str(), 1);
    if (!start(pids, argv + 2))
      return EXIT_FAILURE;
    await_first_death();
    stop(pids);
  }
}
