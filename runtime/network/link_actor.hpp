// Lets an actor stand for one of another process: whoever holds it need not know where
// the other lives.
#pragma once

#include "actors/interfaces.hpp"
#include "messages/caf.hpp"
#include "runtime/network/link_messages.hpp"
#include "runtime/network/link_outbox.hpp"
#include "runtime/network/message_frames.hpp"

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

template <class Signature>
struct parts_of_signature;

#if ACTORRUN_CAF_017
template <class In, class Out>
struct parts_of_signature<
  caf::typed_mpi<caf::detail::type_list<In>, caf::output_tuple<Out>>> {
  using in = In;
  using out = Out;
};
#else
template <class Out, class In>
struct parts_of_signature<caf::result<Out>(In)> {
  using in = In;
  using out = Out;
};
#endif

/// A handler for one message of an interface that calls `fn`, as for all others.
template <class Signature, class F>
auto handler_of(F fn) {
  using in = typename parts_of_signature<Signature>::in;
  using out = typename parts_of_signature<Signature>::out;
  if constexpr (std::is_void_v<out>)
    return [fn](const in& x) { fn(x); };
  else
    return [fn](const in& x) -> caf::result<out> { return fn(x); };
}

/// An interface and a few messages more.
template <class Handle, class... More>
struct extended_interface;

template <class... Signatures, class... More>
struct extended_interface<caf::typed_actor<Signatures...>, More...> {
  using type = caf::typed_actor<Signatures...,
                                typename message_signature<More>::type...>;

  /// A behavior that passes all messages to `fn`, which may be a template.
  template <class F>
  static typename type::behavior_type behavior(F fn) {
    return {handler_of<Signatures>(fn)...,
            handler_of<typename message_signature<More>::type>(fn)...};
  }
};

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

/// Sends in the name of `from`.
template <class From, class To, class T>
void tell_as(const From& from, const To& to, T&& x) {
#if ACTORRUN_CAF_1
  caf::detail::send_as(from, to, std::forward<T>(x));
#else
  caf::send_as(from, to, std::forward<T>(x));
#endif
}

/// Makes the local messages known to CAF. @see register_message_types
void register_link_types();

} // namespace actorrun::detail

ACTORRUN_BEGIN_LOCAL_TYPES(actorrun_links, ACTORRUN_FIRST_TYPE_ID + 240)
ACTORRUN_LOCAL_TYPE(actorrun_links, actorrun::detail::link_ended)
ACTORRUN_LOCAL_TYPE(actorrun_links, actorrun::detail::coordinator_spoke)
ACTORRUN_LOCAL_TYPE(actorrun_links, actorrun::detail::agent_asked)
ACTORRUN_END_LOCAL_TYPES(actorrun_links)
