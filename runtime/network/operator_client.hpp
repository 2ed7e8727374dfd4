// Asks a process of a job as an operator, on the caller's thread.
#pragma once

#include "messages/result.hpp"
#include "runtime/network/connector.hpp"
#include "runtime/network/link_socket.hpp"
#include "runtime/network/operator_frames.hpp"
#include "runtime/os/reactor.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

namespace actorrun::detail {

/// Blocks until a reply is there or the time is over. Needs no actor system.
class operator_client {
public:
  using time_point = std::chrono::steady_clock::time_point;
  /// Begins to connect; see `connect` and `connect_unix`.
  using dialler
    = std::function<reactor_handle(reactor& home, connect_callback on_done)>;

  /// Waits without a limit.
  static constexpr auto never = time_point::max();

  /// Connects with `dial`, which has a deadline of its own, and agrees on the
  /// encryption.
  /// @param identity Our certificate; may be null.
  /// @param due      For the encryption, too; it has `encryption_limit` at most.
  /// @retval as `connect_callback`; errc::connection_timed_out,
  ///         errc::connection_failed, errc::certificate_mismatch  not encrypted
  static result<operator_client>
  open(const dialler& dial, std::shared_ptr<const tls_identity> identity,
       time_point due);

  /// @pre `x` is no larger than `request_size_max`
  result<void> send(const v1::OperatorRequest& x);

  /// Waits for the next reply.
  /// @param stop A descriptor: the wait ends when it becomes readable, or its
  ///             other side closes it; -1: none.
  /// @returns none: `stop` has become readable
  /// @retval errc::connection_timed_out  none came
  /// @retval errc::connection_failed     the other side has closed the connection
  /// @retval errc::not_actorrun          it sends something else
  result<std::optional<v1::OperatorReply>> receive(time_point due,
                                                   int stop = -1);

private:
  /// What a wait has ended with.
  enum class event { moved, stopped, late };

  explicit operator_client(std::unique_ptr<link_socket> socket)
    : socket_(std::move(socket)) {}

  result<void> agree(time_point due);
  event wait(time_point due, int stop) const;
  result<void> exchange();

  std::unique_ptr<link_socket> socket_;
  frame_splitter replies_{reply_size_max};
  bool has_ended_ = false;
};

} // namespace actorrun::detail
