#include "meeting.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr auto patience = std::chrono::seconds{60};
constexpr auto interval = std::chrono::milliseconds{10};

std::string variable(const char* name) {
  const auto* value = std::getenv(name);
  if (value == nullptr) {
    std::fprintf(stderr, "%s is not set: start this with actorrun\n", name);
    std::exit(2);
  }
  return value;
}

int number(const char* name) {
  return std::atoi(variable(name).c_str());
}

// A job id may have a slash in it.
std::string path_in(const char* folder) {
  auto job = variable("ACTORRUN_JOB_ID");
  for (auto& c : job)
    if (c == '/')
      c = '_';
  return std::string{folder} + "/nccl-" + job + "-"
         + variable("ACTORRUN_EPOCH");
}

// First under another name: nobody reads half of it.
void leave(const std::string& path, const void* data, std::size_t size) {
  const auto draft = path + ".draft";
  auto file = std::ofstream{draft, std::ios::binary};
  file.write(static_cast<const char*>(data), std::streamsize(size));
  file.close();
  if (!file || std::rename(draft.c_str(), path.c_str()) != 0) {
    std::perror(path.c_str());
    std::exit(3);
  }
}

bool take(const std::string& path, void* data, std::size_t size) {
  auto file = std::ifstream{path, std::ios::binary};
  auto read = std::vector<char>(size);
  if (!file.read(read.data(), std::streamsize(size)))
    return false;
  std::copy(read.begin(), read.end(), static_cast<char*>(data));
  return true;
}

} // namespace

worker_identity read_identity() {
  return {number("RANK"), number("WORLD_SIZE"), number("LOCAL_RANK"),
          number("TORCHELASTIC_RESTART_COUNT")};
}

void share_from_rank_0(const char* folder, const worker_identity& self,
                       void* data, std::size_t size) {
  const auto path = path_in(folder);
  if (self.rank == 0)
    return leave(path, data, size);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (!take(path, data, size)) {
    if (std::chrono::steady_clock::now() > deadline) {
      std::fprintf(stderr, "rank %d: rank 0 has left nothing at %s\n",
                   self.rank, path.c_str());
      std::exit(3);
    }
    std::this_thread::sleep_for(interval);
  }
}
