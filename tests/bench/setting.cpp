#include "tests/bench/setting.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include <unistd.h>

namespace actorrun::bench {

namespace {

constexpr auto hydra_name = "mpiexec.hydra";

constexpr auto print_torch_version
  = "import torch, torch.distributed.run; print(torch.__version__)";

std::optional<std::string> in_path(const std::string& name) {
  const auto* path = std::getenv("PATH");
  auto folders = std::istringstream{path == nullptr ? "" : path};
  for (std::string folder; std::getline(folders, folder, ':');)
    if (::access((folder + '/' + name).c_str(), X_OK) == 0)
      return folder + '/' + name;
  return std::nullopt;
}

} // namespace

result<setting> setting::prepare(bool quick) {
  namespace fs = std::filesystem;
  auto error = std::error_code{};
  auto x = setting{};
  x.quick_ = quick;
  x.hollow_counts_ = quick ? std::vector{50U} : std::vector{200U, 1'000U};
  x.tools_ = fs::read_symlink("/proc/self/exe", error).parent_path() / "";
  for (const auto* name :
       {"actorrun", "actorctl", "spawn_loop", "respawn_loop", "stamp",
        "line_writer", "copy_loop", "store_load", "timer_worker"})
    if (const auto there = x.need(name); !there)
      return there.error();
  auto folder
    = (fs::temp_directory_path(error) / "actorrun-bench-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)
    return unmeasured(folder + ": " + std::strerror(errno));
  x.folder_ = folder;
  x.hydra_ = in_path(hydra_name);
  return x;
}

setting::~setting() {
  auto error = std::error_code{};
  if (!folder_.empty())
    std::filesystem::remove_all(folder_, error);
}

result<void> setting::need(const std::string& name) const {
  if (::access(tool(name).c_str(), X_OK) == 0)
    return {};
  return unmeasured("there is no program " + tool(name)
                    + "; build all targets first");
}

std::vector<uint32_t> setting::launch_sizes() const {
  if (quick_)
    return {1, 8};
  return {1, 8, 32, 128, 512};
}

program::command setting::command(std::vector<std::string> arguments,
                                  std::vector<std::string> environment) {
  environment.push_back("ACTORRUN_RUN_DIR=" + folder_ + "/run");
  return {.arguments = std::move(arguments),
          .environment = std::move(environment),
          .output = folder_ + "/output." + std::to_string(++file_count_)};
}

// Debian's has the packages; another one may come first in PATH.
const std::optional<std::string>& setting::python_with_torch() {
  if (std::exchange(has_inspected_python_, true))
    return python_;
  const auto* chosen = std::getenv("PYTHON_EXEC");
  for (const auto* name : {chosen, "python3", "/usr/bin/python3"}) {
    if (name == nullptr || *name == '\0')
      continue;
    const auto probe = command({name, "-c", print_torch_version});
    if (!time_of(probe))
      continue;
    python_ = name;
    std::getline(std::ifstream{probe.output}, torch_version_);
    break;
  }
  return python_;
}

std::string setting::new_file() {
  return folder_ + "/file." + std::to_string(++file_count_);
}

std::string setting::new_folder() {
  auto path = folder_ + "/folder." + std::to_string(++file_count_);
  std::filesystem::create_directory(path);
  return path;
}

result<stamp_tracker> setting::new_tracker() {
  return stamp_tracker::open(folder_ + "/stamps."
                             + std::to_string(++file_count_));
}

} // namespace actorrun::bench
