// Writes what is installed beside the programs: their manual pages and completion
// scripts; and docs/messages.md, to be copied there.
#include "cli/completion/completion.hpp"
#include "cli/guide/guide.hpp"
#include "cli/report/diagnostics.hpp"

#include <filesystem>
#include <fstream>
#include <iostream>

using namespace actorrun::cli;

namespace {

bool write(const std::filesystem::path& path, const std::string& text) {
  auto file = std::ofstream{path};
  file << text << std::flush;
  if (!file)
    std::cerr << "guide_files: error: cannot write " << path << "\n";
  return bool{file};
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: guide_files FOLDER\n";
    return 2;
  }
  const auto folder = std::filesystem::path{argv[1]};
  for (const auto& guide : {actorrun_guide(), actorctl_guide()}) {
    const auto& name = guide.name;
    // The names by which man and the shells look for them.
    if (!write(folder / (name + ".1"), manual_page(guide, ACTORRUN_VERSION))
        || !write(folder / name, completion_script(shell::bash, guide))
        || !write(folder / ("_" + name), completion_script(shell::zsh, guide))
        || !write(folder / (name + ".fish"),
                  completion_script(shell::fish, guide)))
      return 1;
  }
  return write(folder / "messages.md", messages_page()) ? 0 : 1;
}
