#include "tests/bench/process_usage.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

#include <unistd.h>

namespace actorrun::bench {

namespace {

namespace fs = std::filesystem;

constexpr double kib_per_mib = 1024;

std::string folder_of(pid_t pid) {
  return "/proc/" + std::to_string(pid);
}

/// The number behind `name:` in a file of lines; 0 if there is none.
uint64_t field(const std::string& path, const std::string& name) {
  auto file = std::ifstream{path};
  for (std::string word; file >> word;)
    if (word == name + ":") {
      auto number = uint64_t{0};
      file >> number;
      return number;
    }
  return 0;
}

std::vector<std::string> tasks_of(pid_t pid) {
  auto result = std::vector<std::string>{};
  auto error = std::error_code{};
  auto next = fs::directory_iterator{folder_of(pid) + "/task", error};
  for (; !error && next != fs::directory_iterator{}; next.increment(error))
    result.push_back(next->path());
  return result;
}

} // namespace

std::vector<pid_t> children_of(pid_t pid) {
  auto result = std::vector<pid_t>{};
  for (const auto& task : tasks_of(pid)) {
    auto file = std::ifstream{task + "/children"};
    for (pid_t child = 0; file >> child;)
      result.push_back(child);
  }
  return result;
}

std::vector<pid_t> tree_of(pid_t pid, const std::vector<pid_t>& without) {
  auto result = std::vector<pid_t>{pid};
  for (size_t i = 0; i < result.size(); ++i)
    for (const auto child : children_of(result[i]))
      if (std::find(without.begin(), without.end(), child) == without.end())
        result.push_back(child);
  return result;
}

bool is_alive(pid_t pid) {
  auto file = std::ifstream{folder_of(pid) + "/status"};
  for (std::string word; file >> word;)
    if (word == "State:") {
      file >> word;
      return word != "Z" && word != "X";
    }
  return false;
}

double resident_mib(pid_t pid) {
  return double(field(folder_of(pid) + "/status", "VmRSS")) / kib_per_mib;
}

double proportional_mib(pid_t pid) {
  return double(field(folder_of(pid) + "/smaps_rollup", "Pss")) / kib_per_mib;
}

// The name in brackets may hold anything; 11 fields stand between it and the times.
double cpu_seconds(pid_t pid) {
  auto file = std::ifstream{folder_of(pid) + "/stat"};
  auto line = std::string{};
  std::getline(file, line);
  auto rest = std::istringstream{line.substr(line.rfind(')') + 1)};
  auto skipped = std::string{};
  for (auto i = 0; i < 11; ++i)
    rest >> skipped;
  auto user = uint64_t{0};
  auto system = uint64_t{0};
  rest >> user >> system;
  return double(user + system) / double(::sysconf(_SC_CLK_TCK));
}

uint64_t sleep_count(pid_t pid) {
  auto sum = uint64_t{0};
  for (const auto& task : tasks_of(pid))
    sum += field(task + "/status", "voluntary_ctxt_switches");
  return sum;
}

uint32_t thread_count(pid_t pid) {
  return static_cast<uint32_t>(tasks_of(pid).size());
}

} // namespace actorrun::bench
