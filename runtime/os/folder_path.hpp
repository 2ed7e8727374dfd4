// Makes a path of folders, and removes them again unless they are kept.
#pragma once

#include "runtime/os/folder.hpp"

#include <string>
#include <vector>

namespace actorrun::detail {

/// Links that are there already are followed: the user has chosen them. Nothing
/// that appears while the path is made is.
class folder_path {
public:
  folder_path() = default;
  folder_path(const folder_path&) = delete;
  folder_path& operator=(const folder_path&) = delete;

  /// Removes what was made, if it is empty.
  ~folder_path();

  /// @param path Absolute.
  /// @returns its descriptor, with O_PATH
  opening make(const std::string& path);

  /// Removes this one, too, unless it is kept.
  void add(unique_fd parent, std::string name) {
    made_.push_back({std::move(parent), std::move(name)});
  }

  void keep() { made_.clear(); }

  /// The folder in which another user can replace what was made or found: the
  /// last of the path, or the one that the first new folder is in. Empty: none.
  const std::string& exposed() const { return exposed_; }

private:
  struct entry {
    unique_fd parent;
    std::string name;
  };

  opening step(int at, const std::string& name, const std::string& above);

  std::vector<entry> made_;
  std::string exposed_;
};

} // namespace actorrun::detail
