// The limit of every launcher that shows output: starts N workers and copies
// their output, as it arrives, to a file each and to standard output. Does not
// split lines. `copy_loop N FOLDER PROGRAM [ARGUMENTS…]`

#include <cstdlib>
#include <string>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

/// Size of a pipe without privileges.
constexpr size_t size_max = 1024 * 1024;

struct worker {
  pid_t pid = 0;
  int pipe = -1;
  int file = -1;
};

worker start(size_t rank, const std::string& folder, char** arguments) {
  auto x = worker{};
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    std::exit(EXIT_FAILURE);
  ::fcntl(ends[1], F_SETPIPE_SZ, int(size_max));
  x.pipe = ends[0];
  x.file = ::open((folder + "/" + std::to_string(rank)).c_str(),
                  O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  x.pid = ::fork();
  if (x.pid == 0) {
    ::setenv("RANK", std::to_string(rank).c_str(), 1);
    ::dup2(ends[1], STDOUT_FILENO);
    ::execvp(arguments[0], arguments);
    ::_exit(EXIT_FAILURE);
  }
  ::close(ends[1]);
  return x;
}

bool write_all(int fd, const char* bytes, size_t size) {
  while (size > 0) {
    const auto count = ::write(fd, bytes, size);
    if (count <= 0)
      return false;
    bytes += count;
    size -= size_t(count);
  }
  return true;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 4)
    return EXIT_FAILURE;
  auto workers = std::vector<worker>(std::strtoul(argv[1], nullptr, 10));
  auto inputs = std::vector<pollfd>{};
  for (size_t i = 0; i < workers.size(); ++i) {
    workers[i] = start(i, argv[2], argv + 3);
    inputs.push_back({.fd = workers[i].pipe, .events = POLLIN, .revents = 0});
  }
  auto buffer = std::vector<char>(size_max);
  for (auto left = workers.size(); left > 0;) {
    if (::poll(inputs.data(), inputs.size(), -1) < 0)
      return EXIT_FAILURE;
    for (size_t i = 0; i < workers.size(); ++i) {
      if (inputs[i].revents == 0)
        continue;
      const auto count = ::read(inputs[i].fd, buffer.data(), buffer.size());
      if (count <= 0) {
        inputs[i].fd = -1;
        --left;
      } else if (!write_all(workers[i].file, buffer.data(), size_t(count))
                 || !write_all(STDOUT_FILENO, buffer.data(), size_t(count))) {
        return EXIT_FAILURE;
      }
    }
  }
  for (const auto& x : workers)
    ::waitpid(x.pid, nullptr, 0);
}
