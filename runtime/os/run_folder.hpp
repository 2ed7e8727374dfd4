// Owns the private folder in which the jobs of one user on this host have their
// Unix sockets.
#pragma once

#include "messages/ids.hpp"
#include "messages/result.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace actorrun::detail {

/// The process that listens on a socket.
enum class socket_role { agent, coordinator };

/// `agent` or `coordinator`, as in the socket's name.
std::string_view to_string(socket_role x);

/// A socket's name, parsed.
struct socket_name {
  std::string job; ///< See `job_label`; not the id itself.
  pid_t pid = 0;
  socket_role role = socket_role::agent;

  friend bool operator==(const socket_name&, const socket_name&) = default;
};

struct live_socket {
  socket_name name;
  std::string path;
};

/// At most 15 characters of A-Z a-z 0-9 _ and - that resemble the id, a dash,
/// and 8 hex digits of its hash.
std::string job_label(const job_id& job);

/// None if it is not the name of such a socket.
std::optional<socket_name> parse_socket_name(std::string_view file_name);

/// A folder that no other user can write to; its sockets need no secret.
class run_folder {
public:
  using folders = std::vector<std::string>;

  /// Finds or makes the folder: `$ACTORRUN_RUN_DIR`; else `actorrun` in
  /// `$XDG_RUNTIME_DIR` if that is ours; else `/tmp/actorrun-<uid>`, or
  /// `/dev/shm/actorrun-<uid>` in a container that has no `/tmp`; else, where
  /// another user has taken those names, `/tmp/actorrun-<uid>-<6 random>`, the
  /// first by name if there are some. No other user can take all names.
  /// @param temporary Stands for `/tmp` and `/dev/shm`; tests have their own.
  /// @retval errc::system_failure  `$ACTORRUN_RUN_DIR`, or each of the others,
  ///         cannot be made, is a symbolic link or no folder, is another user's,
  ///         or others may write to it; the text names the first
  static result<run_folder> open(const folders& temporary
                                 = {"/tmp", "/dev/shm"});

  /// All folders that `open` may find now, or may have found before: in which
  /// one a process is depends on its environment, and on what other users did.
  /// Makes none but `$ACTORRUN_RUN_DIR`, which is the only one if it is set.
  /// @retval errc::system_failure  that cannot be used
  static result<std::vector<run_folder>> find_all(const folders& temporary
                                                  = {"/tmp", "/dev/shm"});

  /// The same for one path. @param shared The folder that it lies in is not
  /// ours alone, so `remove_if_empty` removes it.
  static result<run_folder> open_at(const std::string& path, bool shared);

  const std::string& path() const { return path_; }

  /// `<folder>/<job label>.<process name>.<role>.sock`. @see process_name
  /// @retval errc::cannot_listen  it is longer than a Unix address may be
  result<std::string> socket_path(const job_id& job, pid_t pid,
                                  socket_role role) const;

  /// The sockets that have a listener, by name. Removes sockets left by agents
  /// whose processes were killed.
  std::vector<live_socket> list() const;

  /// Removes the folder if it is empty and lies where others have theirs.
  void remove_if_empty() const;

private:
  run_folder(std::string path, bool shared)
    : path_(std::move(path)), shared_(shared) {}

  std::string path_;
  bool shared_;
};

} // namespace actorrun::detail
