// Speaks for a process that has ended: keeps its sockets open and answers there.
#pragma once

#include <cstddef>
#include <string_view>

namespace actorrun::detail {

/// Whose end a socket proves.
enum class kept_socket : size_t {
  /// The agent's: while its socket is open, workers of the agent may run.
  presence,
  /// The agent's: whoever connects after its end is told, as soon as no process
  /// of its workers' groups runs.
  agent,
  /// The coordinator's: whoever connects after its end is told at once.
  coordinator,
  /// The agent's, at which others that vote reach it: as `agent`.
  voter,
};

inline constexpr size_t kept_socket_count = 4;

class socket_keeper {
public:
  /// Bytes of the longest statement and the longest release request.
  static constexpr size_t statement_size_max = 4096;
  static constexpr size_t release_size_max = 32;

  virtual ~socket_keeper() = default;

  /// From now on the socket stays open if this process ends in any way but in
  /// order, and `statement` is sent to whoever connects then. One socket per
  /// kind: it takes the place of the last one.
  /// @param socket  Duplicated. Listens, if there is a statement.
  /// @param release Whoever sends these bytes has the socket closed, once no
  ///                process of the workers' groups runs. Empty: none does.
  virtual void keep(kept_socket which, int socket,
                    std::string_view statement = {},
                    std::string_view release = {})
    = 0;

  /// Changes the statement; the new one counts when this returns.
  virtual void reword(kept_socket which, std::string_view statement) = 0;

  /// Closes the socket, for a process that goes on without it.
  virtual void close(kept_socket which) = 0;
};

} // namespace actorrun::detail
