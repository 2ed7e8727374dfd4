// Carries a link between the network and actors: encrypts what leaves, checks what
// arrives, and keeps back what one side has not taken yet.
#pragma once

#include "actors/core/time.hpp"
#include "messages/result.hpp"
#include "runtime/network/keys.hpp"
#include "runtime/network/link_actor.hpp"
#include "runtime/network/link_socket.hpp"
#include "runtime/network/tls_session.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace actorrun::detail {

struct link_setup {
  link_side mine = link_side::client;
  /// What is at the other end, for our actors. Never null.
  std::unique_ptr<link_peer> peer;
  /// From the handshake. None: a Unix socket, which no other process can read.
  std::optional<link_key> key{};
  tls_trust trust{};
  /// Timeout for both sides to agree on the encryption.
  core::duration limit = encryption_limit;
  /// Calls `fn` once, on any thread, when whoever gets the messages has handled
  /// those that were delivered: until then some may wait, and no more. May be
  /// empty: as many as come.
  std::function<void(std::function<void()> fn)> call_when_handled{};
  /// Answers may come so much later than at once. @see reactor::could_wait
  core::duration answer_pause{};
  /// Called once, when both sides have agreed on the encryption, on the reactor's
  /// thread. May be empty; is not called without a key.
  /// @returns whether the link goes on: the peer begins then
  std::function<bool(const resumption_key&)> on_encrypted{};
  /// Called once, when the link has ended by itself, on the reactor's thread; may
  /// destroy the link.
  /// @param how A failure: the other side has done what the text says, as a verb
  ///            and its object. Otherwise it, or an actor, has ended it.
  std::function<void(const result<void>& how)> on_closed{};
};

/// Begins to carry a connection whose handshake was accepted.
/// @param connection Non-blocking; nothing beyond the handshake has been read.
/// @returns the link; its destructor ends it, and both sides notice
/// @pre `home` outlives the link
reactor_handle carry(reactor& home, unique_fd connection, link_setup setup);

/// Everything but the constructor runs on the reactor's thread.
///
///     network ==> session ==> frames ==> peer ==> actors
///             <==         <==       outbox     <==
///
/// A link holds little of what comes from the network; what actors have written waits
/// in the outbox, and is taken when the network has taken what came before. What the
/// peer answers itself leaves at once; whoever does not read the answers is read no
/// more. Nor is one whose messages come faster than they are handled, for so long: a
/// mailbox has no limit.
class guarded_link : public reactor_part,
                     public std::enable_shared_from_this<guarded_link> {
public:
  guarded_link(reactor& home, unique_fd network, link_setup setup);

  void start() override;

  /// Passes on what actors have written until now, as far as the network takes it at
  /// once: a last message is often followed by the end of its process.
  void stop() override;

private:
  using progress = link_socket::progress;

  void on_network();
  void on_outbox();
  bool begin_peer();
  result<progress> read_network();
  result<void> pass_to_peer(size_t& passed);
  progress read_outbox();
  void note_passed(size_t size);
  void ask_whether_handled();
  bool may_read_network();
  void watch_network();
  void finish(const result<void>& how);

  reactor& home_;
  link_socket network_;
  std::unique_ptr<link_peer> peer_;
  std::shared_ptr<link_outbox> outbox_ = std::make_shared<link_outbox>();
  frame_splitter frames_{message_frame_max};
  socket_watch network_watch_;
  core::duration answer_pause_;
  core::duration limit_; ///< For the encryption.
  std::function<void(std::function<void()>)> call_when_handled_;
  size_t unhandled_ = 0; ///< Bytes that were delivered, and …
  size_t asked_ = 0;     ///< … of these, those that an answer is awaited for.
  std::function<bool(const resumption_key&)> on_encrypted_;
  std::function<void(const result<void>&)> on_closed_;
  reactor::timer timer_ = 0; ///< For the encryption.
  bool has_begun_ = false;   ///< The peer has.
};

} // namespace actorrun::detail
