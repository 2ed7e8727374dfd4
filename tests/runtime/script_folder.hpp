// A folder for a test's own programs.
#pragma once

#include "tests/support/catch.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/stat.h>

namespace actorrun::detail::script_test {

struct folder {
  std::filesystem::path path;

  folder() {
    const auto pattern
      = std::filesystem::temp_directory_path() / "actorrun-XXXXXX";
    auto name = pattern.string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path = name;
  }

  ~folder() { std::filesystem::remove_all(path); }

  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;

  std::string file(const std::string& name, const std::string& text,
                   mode_t mode) const {
    const auto full = (path / name).string();
    std::ofstream{full} << text;
    ::chmod(full.c_str(), mode);
    return full;
  }
};

} // namespace actorrun::detail::script_test
