// Owns the socket through which an agent and its live workers speak.
#pragma once

#include "actors/ports/worker_control.hpp"
#include "messages/result.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/run_folder.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace actorrun::detail {

class control_connections;

struct control_limits {
  /// A connection is admitted, and has said hello, within so long of its beginning,
  /// or is closed.
  std::chrono::milliseconds hello{10'000};
  /// At most this many connections wait for that; a further one takes the place of
  /// the one that has waited longest.
  size_t waiting_count = 256;
  /// At most this many packets wait for a worker that does not read, behind those
  /// that the system keeps. With one more its connection is closed.
  size_t outgoing_count = 16;
  /// At most this many packets of one worker are read per `reading_interval`; the
  /// rest waits in the system, which keeps a bounded number.
  size_t reading_count = 256;
  std::chrono::milliseconds reading_interval{100};
};

/// A Unix socket, SOCK_SEQPACKET, that only processes of this user may connect to.
/// The system identifies them when they do: a process that changes its session
/// afterwards speaks for its old one. Received descriptors are closed.
///
/// A connection that breaks a rule gets a packet that says so, and is closed. Of
/// steps that are read at once only the last is passed on.
class worker_control_socket final : public ports::worker_control {
public:
  /// Makes it in the folder of the user's jobs. Connections wait in the system until
  /// `listen`.
  /// @param loop Lives longer. The listener is called on its thread.
  /// @retval errc::system_failure, errc::cannot_listen  the folder cannot be used, its path is too
  ///         long, or the socket cannot be made; the text says so
  static result<std::unique_ptr<worker_control_socket>>
  open(reactor& loop, const control_limits& limits = {});

  /// Closes all connections; the listener is not called any more. Removes the
  /// socket, and those left there by killed agents.
  /// @pre the caller holds no lock that the listener takes
  ~worker_control_socket() override;

  worker_control_socket(const worker_control_socket&) = delete;
  worker_control_socket& operator=(const worker_control_socket&) = delete;

  std::string address() const override { return path_; }
  void listen(listener on_word) override;
  void admit(std::vector<ports::controlled_worker> workers) override;
  void tell(uint32_t local_rank, core::worker_order order) override;

private:
  worker_control_socket(reactor& loop, run_folder folder, std::string path,
                        std::shared_ptr<control_connections> connections);

  reactor& loop_;
  run_folder folder_;
  std::string path_;
  std::shared_ptr<control_connections> connections_;
};

} // namespace actorrun::detail
