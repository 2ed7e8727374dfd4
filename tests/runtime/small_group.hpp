// A control group with little memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>

#include <unistd.h>

namespace actorrun::test {

/// A control group of the mounted version; removed at the end, when its
/// processes must have ended.
struct small_group {
  /// Without a folder if no control group may limit memory here.
  /// @param memory In bytes.
  explicit small_group(size_t memory) {
    const auto own = "/actorrun-test-" + std::to_string(::getpid());
    for (const auto& [base, limit] :
         {std::pair{"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
          std::pair{"/sys/fs/cgroup", "memory.max"}}) {
      auto error = std::error_code{};
      std::filesystem::create_directory(base + own, error);
      folder = base + own;
      if (!error && put(limit, std::to_string(memory)))
        return;
      std::filesystem::remove(folder, error);
    }
    folder.clear();
  }

  small_group(const small_group&) = delete;
  small_group& operator=(const small_group&) = delete;

  ~small_group() {
    if (!folder.empty())
      ::rmdir(folder.c_str());
  }

  bool put(const std::string& file, const std::string& value) const {
    auto out = std::ofstream{folder + "/" + file};
    out << value;
    out.close();
    return !out.fail();
  }

  std::string folder;
};

} // namespace actorrun::test
