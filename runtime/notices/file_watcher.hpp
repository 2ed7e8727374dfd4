// Watches a file that says that this machine is about to go.
#pragma once

#include "actors/core/notices/file_watch.hpp"
#include "messages/result.hpp"

#include <functional>
#include <memory>
#include <string>

namespace actorrun::detail {

/// Looks when inotify says that something has happened in the folder, and each
/// second: of what other hosts write on a network file system inotify knows nothing,
/// and a folder may be made anew. On a thread of its own, as a file system may hang.
class file_watcher {
public:
  /// Gets the first line of the file, once, on any thread; one printable line, maybe
  /// empty. Not after the watcher is gone.
  using listener = std::function<void(std::string words)>;

  /// Notes what is there now; watches nothing yet.
  /// @param path Absolute, or from the working directory.
  /// @retval errc::bad_argument  its folder is missing, or is none
  static result<std::unique_ptr<file_watcher>> open(const std::string& path);

  /// Ends the watch. A look that hangs is left alone.
  ~file_watcher();

  file_watcher(const file_watcher&) = delete;
  file_watcher& operator=(const file_watcher&) = delete;

  /// Call it once.
  /// @retval errc::system_failure  the system gives no thread or descriptor
  result<void> start(listener fn);

  /// Absolute.
  const std::string& path() const { return path_; }

private:
  struct shared;

  file_watcher(std::string path, core::file_watch watch);

  std::string path_;
  core::file_watch watch_;         ///< Until the start.
  std::shared_ptr<shared> shared_; ///< With the thread; null before the start.
};

} // namespace actorrun::detail
