// Owns the descriptor of a folder and opens what is below it, without following
// a link that another program may have put there.
#pragma once

#include "runtime/os/unique_fd.hpp"

#include <memory>
#include <string>
#include <utility>

#include <sys/types.h>

namespace actorrun::detail {

/// A descriptor, or why there is none.
struct opening {
  unique_fd fd{};
  int error = 0;     ///< errno; 0: there is a descriptor.
  std::string why{}; ///< For people, in one line, if there is none.

  explicit operator bool() const { return bool(fd); }
};

/// All names below are relative to the folder, such as `attempt_0/1/stdout.log`.
/// One with `..` in it is refused with EINVAL, and no link is followed, neither
/// at the end of a name nor before: the error is ELOOP, and the text says which
/// part of the name is the link. What is renamed or replaced above the folder
/// does not matter.
class folder_handle {
public:
  folder_handle() = default;

  /// @param fd   Of a folder; O_PATH is enough.
  /// @param path Where it was found, for texts and `place_of`.
  folder_handle(unique_fd fd, std::string path)
    : fd_(std::move(fd)), path_(std::move(path)) {}

  int fd() const { return fd_.get(); }
  const std::string& path() const { return path_; }
  explicit operator bool() const { return bool(fd_); }

  /// Opens a regular file. Never waits for another program, and neither reads
  /// nor writes anything else that has the name. For writing, the file must
  /// have no other name (EMLINK), and belong to this user or to the folder's
  /// owner (EPERM).
  /// @param flags O_TRUNC empties the file after these checks.
  opening open_file(const std::string& name, int flags, mode_t mode = 0) const;

  /// With O_PATH.
  opening open_folder(const std::string& name) const;

  /// The folder in which the last part of the name lies, which need not exist.
  opening open_parent(const std::string& name) const;

private:
  opening open_below(const std::string& name, int flags, mode_t mode) const;
  opening walk(const std::string& name, int flags, mode_t mode) const;
  opening refusal(int parent, const std::string& name, int error) const;
  opening check(opening x, const std::string& name, int flags) const;

  unique_fd fd_;
  std::string path_;
};

/// Whether another user can replace what is in a folder: one who may write
/// there, unless it is sticky. A group with the number of the user is the
/// user's own.
bool is_open_to_others(int fd);

/// Whether the folder contains anything but folders, at any depth; also if it
/// cannot be read.
bool holds_files(int fd);

/// Removes the folders in a folder, unless it holds anything else.
void remove_unless_used(int fd);

// -- by path ------------------------------------------------------------------

/// From here on, as long as the result lives, `place_of` finds this folder.
std::shared_ptr<const folder_handle> guard(folder_handle x);

/// A name, and the guarded folder that leads to it.
struct place {
  std::shared_ptr<const folder_handle> base{}; ///< None: `name` is a path.
  std::string name{};
};

place place_of(const std::string& path);

/// Opens a file: below a guarded folder as this does, elsewhere as open(2) does,
/// with what the path says.
opening open_at(const std::string& path, int flags, mode_t mode = 0);

/// For renameat(2) and the like: the folder of a path, and the name in it.
/// Below a guarded folder no link leads to it.
struct located {
  opening parent{};
  std::string name{};
  bool is_guarded = false;

  explicit operator bool() const { return !is_guarded || bool(parent); }
  int at() const;
};

located locate(const std::string& path);

} // namespace actorrun::detail
