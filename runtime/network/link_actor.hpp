// Lets an actor stand for one of another process: whoever holds it need not know where
// the other lives.
#pragma once

#include "actors/interfaces.hpp"
#include "messages/caf.hpp"
#include "runtime/network/link_messages.hpp"
#include "runtime/network/link_outbox.hpp"
#include "runtime/network/message_frames.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace actorrun::detail {

// -- local messages -----------------------------------------------------------

/// The link has ended, and so does its actor.
struct link_ended {};

/// The coordinator's side has said this.
struct coordinator_spoke {
  v1::ToAgent what;
};

/// An agent asks, by its own number.
struct agent_asked {
  uint64_t number = 0;
  v1::StatusRequest what;
  std::shared_ptr<std::atomic<size_t>> open; ///< Is counted down by the answer.
};

// -- the other side -----------------------------------------------------------

/// What a link has for its peer.
struct link_opening {
  std::shared_ptr<link_outbox> outbox; ///< What is written there leaves.
  /// Whether the other side may announce this host as its address.
  std::function<bool(const std::string& host)> may_speak_for;
};

/// The other side of a link, for the actors of this process. All functions are called
/// on the thread of the link.
class link_peer {
public:
  virtual ~link_peer() = default;

  /// Both sides have proved who they are.
  virtual void begin(const link_opening& x) = 0;

  /// The next message has arrived.
  /// @param content As `frame_splitter::next` returns it.
  /// @returns whether an actor has got it; a failure: what is wrong with the other
  ///          side, as a verb and its object. Then the link ends
  virtual result<bool> take(std::string_view content) = 0;

  /// Frames that are to be sent back. Leaves nothing.
  virtual std::string take_answers() = 0;

  /// The link has ended. Also without `begin`.
  virtual void end() = 0;
};

// -- actors -------------------------------------------------------------------

/// Writes messages into a link.
template <class Envelope>
class link_writer {
public:
  explicit link_writer(std::shared_ptr<link_outbox> to) : to_(std::move(to)) {}

  /// @param number Of a question or an answer.
  template <class T>
  void write(T x, uint64_t number = 0) {
    auto envelope = envelope_with<Envelope>(std::move(x));
    if (number != 0)
      envelope.set_number(number);
    if (envelope.ByteSizeLong() > message_frame_max)
      return end(); // The other side would end the link.
    to_->write(message_frame(envelope));
  }

  void end() { to_->end(); }

private:
  std::shared_ptr<link_outbox> to_;
};

/// Makes the local messages known to CAF. @see register_message_types
void register_link_types();

} // namespace actorrun::detail

ACTORRUN_BEGIN_LOCAL_TYPES(actorrun_links, ACTORRUN_FIRST_TYPE_ID + 240)
ACTORRUN_LOCAL_TYPE(actorrun_links, actorrun::detail::link_ended)
ACTORRUN_LOCAL_TYPE(actorrun_links, actorrun::detail::coordinator_spoke)
ACTORRUN_LOCAL_TYPE(actorrun_links, actorrun::detail::agent_asked)
ACTORRUN_END_LOCAL_TYPES(actorrun_links)
