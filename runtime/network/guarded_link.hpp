// Carries a link between the network and CAF: encrypts what leaves, checks what
// arrives, and keeps back what one side has not taken yet.
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"
#include "runtime/network/frame_dialect.hpp"
#include "runtime/network/frame_filter.hpp"
#include "runtime/network/keys.hpp"
#include "runtime/network/link_ends.hpp"
#include "runtime/network/link_pipe.hpp"
#include "runtime/network/link_socket.hpp"
#include "runtime/network/tls_session.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace actorrun::detail {

struct link_setup {
  link_ends ends;
  /// From the handshake. None: a Unix socket, which no other process can read.
  std::optional<link_key> key{};
  tls_trust trust{};
  /// Where the connection comes from, numeric. @see frame_filter
  std::string peer_host{};
  /// Timeout for both sides to agree on the encryption.
  core::duration limit = encryption_limit;
  /// Answers keep-alives, on the reactor's thread. @see frame_filter
  frame_filter::lease_check has_lease{};
  /// Whether the agent was accepted, on the reactor's thread. @see frame_filter
  frame_filter::member_check is_member{};
  /// Calls `fn` once, on any thread, when whoever gets the messages has handled
  /// those that CAF has been given: until then some may wait, and no more. May be
  /// empty: as many as come.
  std::function<void(std::function<void()> fn)> call_when_handled{};
  /// Their answers may come so much later than at once. @see reactor::could_wait
  core::duration answer_pause{};
  /// Called once, when both sides have agreed on the encryption, on the reactor's
  /// thread. May be empty; is not called without a key.
  std::function<void(const resumption_key&)> on_encrypted{};
  /// Called once, when the link has ended by itself, on the reactor's thread; may
  /// destroy the link.
  /// @param how A failure: the other side has done what the text says, as a verb
  ///            and its object. Otherwise it, or CAF, has closed the connection.
  std::function<void(const result<void>& how)> on_closed{};
};

/// A link that runs.
struct open_link {
  reactor_handle link; ///< Its destructor ends the link, and both sides notice.
  pipe_end for_caf;    ///< Speaks CAF's protocol in clear text.
};

/// Begins to carry a connection whose handshake was accepted.
/// @param connection Non-blocking; nothing beyond the handshake has been read.
/// @pre `home` outlives the link
open_link carry(reactor& home, unique_fd connection, link_setup setup);

/// Everything but the constructor runs on the reactor's thread.
///
///     network ==> session ==> filter.arriving ==> dialect.from_wire ==> CAF
///             <==         <== filter.leaving  <== dialect.to_wire   <==
///
/// One side is read only when the other has taken most of what there was, so a link
/// holds little of what comes from the network; what CAF has written waits in the pipe.
/// Keep-alives are answered here, if at all; whoever does not read the answers is read
/// no more. Nor is one whose messages come faster than they are handled, for so long:
/// a mailbox has no limit.
class guarded_link : public reactor_part,
                     public std::enable_shared_from_this<guarded_link> {
public:
  guarded_link(reactor& home, unique_fd network, pipe_end caf,
               link_setup setup);

  void start() override;

  /// Passes on what CAF has written until now, as far as the network takes it at
  /// once: a last message is often followed by the end of its process.
  void stop() override;

private:
  using progress = link_socket::progress;

  void on_network();
  void on_caf();
  result<progress> read_network();
  progress read_caf();
  void pass_to_caf(std::string checked);
  void ask_whether_handled();
  bool may_read_network();
  void watch_network();
  void finish(const result<void>& how);

  reactor& home_;
  link_socket network_;
  pipe_end caf_;
  socket_watch network_watch_;
  frame_filter filter_;
  frame_dialect dialect_;
  core::duration answer_pause_;
  core::duration limit_; ///< For the encryption.
  std::function<void(std::function<void()>)> call_when_handled_;
  size_t unhandled_ = 0; ///< Bytes that CAF was given, and …
  size_t asked_ = 0;     ///< … of these, those that an answer is awaited for.
  std::function<void(const resumption_key&)> on_encrypted_;
  std::function<void(const result<void>&)> on_closed_;
  reactor::timer timer_ = 0; ///< For the encryption.
};

} // namespace actorrun::detail
