// A folder for files of workers, removed at the end of the test.
#pragma once

#include "tests/support/catch.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>

namespace actorrun {

struct worker_files {
  worker_files() {
    auto pattern
      = (std::filesystem::temp_directory_path() / "actorrun-files-XXXXXX")
          .string();
    REQUIRE(::mkdtemp(pattern.data()) != nullptr);
    folder = pattern;
  }

  worker_files(const worker_files&) = delete;
  worker_files& operator=(const worker_files&) = delete;

  ~worker_files() { std::filesystem::remove_all(folder); }

  std::string path(const std::string& name) const {
    return folder + "/" + name;
  }

  /// @returns the path
  std::string write(const std::string& name, std::string_view text) const {
    std::filesystem::create_directories(
      std::filesystem::path{path(name)}.parent_path());
    std::ofstream{path(name), std::ios::binary} << text;
    return path(name);
  }

  std::string read(const std::string& name) const {
    auto out = std::ostringstream{};
    out << std::ifstream{path(name), std::ios::binary}.rdbuf();
    return out.str();
  }

  std::string folder;
};

} // namespace actorrun
