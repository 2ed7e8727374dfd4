// Sends requests for workers to a fork server and receives them there.
#pragma once

#include "runtime/os/unique_fd.hpp"
#include "runtime/processes/child_setup.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace actorrun::detail {

/// In bytes, of arguments and environment together; more is E2BIG. About the
/// system's own limit for a program that is executed.
inline constexpr size_t fork_text_max = 2 * 1024 * 1024;

struct fork_text {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
};

/// A request on the server's side.
struct fork_request {
  int error = 0; ///< errno if the request cannot be carried out as it arrived.
  unique_fd handshake; ///< Where to report; empty: no report.
  unique_fd text;
  unique_fd out; ///< Empty: inherited.
  unique_fd err; ///< Empty: inherited, or the same as `out`.
  bool err_is_out = false;
  std::vector<unique_fd> descriptors;
};

/// Requests a worker. Does not wait.
/// @param files Their descriptors are copied; the caller keeps its own.
/// @returns 0 or an errno: EAGAIN when the server is overloaded
int send_fork_request(int socket, const fork_text& text,
                      const child_files& files, int handshake);

/// Waits for a request.
/// @returns nothing when the agent is gone
std::optional<fork_request> receive_fork_request(int socket);

/// @returns nothing if it is damaged
std::optional<fork_text> read_fork_text(int fd);

} // namespace actorrun::detail
