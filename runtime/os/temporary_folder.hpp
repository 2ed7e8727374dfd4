// Owns a folder for temporary files and removes it when it is not needed.
#pragma once

#include "messages/result.hpp"
#include "runtime/os/folder.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstddef>
#include <string>

namespace actorrun::detail {

/// `actorrun_<8 random>` in `$TMPDIR`, else in `/tmp`, else, in a container without
/// a `/tmp`, in `/dev/shm`, readable by this user only. It is locked as long as this
/// program lives, so that other programs can distinguish it from the folder of a
/// killed program. On a file system without locks the folder of a killed program
/// stays.
class temporary_folder {
public:
  /// None.
  temporary_folder() = default;

  /// @retval errc::log_failed  it cannot be made; the text names it
  static result<temporary_folder> make();

  /// Removes folders of this user's programs that have died, if they contain no
  /// file. Examines at most `sweep_max` folders, others each time.
  static void sweep();
  static constexpr size_t sweep_max = 8;

  const std::string& path() const { return path_; }
  bool empty() const { return path_.empty(); }

  /// @pre not empty
  /// @retval errc::log_failed  there is no descriptor for it
  result<folder_handle> open() const;

  /// Removes it unless a file is in it, and sweeps.
  void remove_if_unused() const;

private:
  std::string path_; ///< Absolute; empty: none.
  unique_fd lock_;
};

/// Makes `<prefix><8 random>`, for this user alone.
/// @retval errc::log_failed  it cannot be made; the text names it
result<std::string> make_private_folder(const std::string& prefix);

/// The same in a folder that is open, and opens it: what another program puts in
/// its place meanwhile is refused.
/// @param prefix Of the name.
result<folder_handle> make_private_folder(const folder_handle& base,
                                          const std::string& prefix);

/// The failure to make a log folder.
failure cannot_make_folder(const std::string& path, int error);

} // namespace actorrun::detail
