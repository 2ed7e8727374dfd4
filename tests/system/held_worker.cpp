// A worker that SIGKILL does not end for a while: a tracer in a session of its
// own hides its death from its parent. Its peers exit with 3.
// usage: held_worker FOLDER
// FOLDER/tracer has the tracer's pid; it ends when FOLDER/release is there.
#include <cstdlib>
#include <fstream>
#include <string>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <time.h>
#include <unistd.h>

namespace {

constexpr auto tick = timespec{.tv_sec = 0, .tv_nsec = 5'000'000};

// Tests time out long before; no process of a test stays forever.
constexpr auto ticks_max = 6'000;

bool exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

void await(const std::string& path) {
  for (auto i = 0; i < ticks_max && !exists(path); ++i)
    ::nanosleep(&tick, nullptr);
}

/// The file gets its name only when it is complete.
void write_number(const std::string& path, long number) {
  std::ofstream{path + "~"} << number << "\n";
  ::rename((path + "~").c_str(), path.c_str());
}

void hold(pid_t worker, const std::string& folder) {
  ::setsid();
  if (::ptrace(PTRACE_SEIZE, worker, nullptr, nullptr) != 0)
    std::_Exit(1);
  ::close(STDOUT_FILENO);
  ::close(STDERR_FILENO);
  write_number(folder + "/tracer", ::getpid());
  await(folder + "/release");
  std::_Exit(0);
}

} // namespace

int main(int count, char** words) {
  if (count != 2)
    return 2;
  const auto folder = std::string{words[1]};
  const auto* rank = std::getenv("LOCAL_RANK");
  if (rank != nullptr && std::string{rank} == "1") {
    ::prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    const auto self = ::getpid();
    if (::fork() == 0)
      hold(self, folder);
    for (;;)
      ::pause();
  }
  await(folder + "/tracer");
  return 3;
}
