#include "setting.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <unistd.h>

namespace actorrun::bench {

namespace {

constexpr auto hydra_name = "mpiexec.hydra";

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
  x.tools_ = fs::read_symlink("/proc/self/exe", error).parent_path() / "";
  for (const auto* name : {"actorrun", "spawn_loop", "respawn_loop", "stamp"})
    if (::access(x.tool(name).c_str(), X_OK) != 0)
      return unmeasured("there is no program " + x.tool(name)
                        + "; build all targets first");
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

result<stamp_board> setting::new_board() {
  return stamp_board::open(folder_ + "/stamps."
                           + std::to_string(++file_count_));
}

} // namespace actorrun::bench
