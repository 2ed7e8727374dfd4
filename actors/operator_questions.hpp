// Answers operators' questions from the messages that actors send to each other.
#pragma once

#include "actors/interfaces.hpp"
#include "messages/caf.hpp"

#include <string>
#include <utility>

namespace actorrun {

/// The reply that something is not done, with a reason for people.
inline v1::OperatorReply refusal_of(errc code, std::string text) {
  auto out = v1::OperatorReply{};
  out.mutable_refusal()->set_code(static_cast<uint32_t>(code));
  out.mutable_refusal()->set_text(std::move(text));
  return out;
}

/// The reply that something is done.
inline v1::OperatorReply done(std::string text) {
  auto out = v1::OperatorReply{};
  out.mutable_done()->set_text(std::move(text));
  return out;
}

/// What a process asks its own agent: how its node is doing, whoever coordinates the
/// job. No operator can ask that: sessions refuse requests without content.
inline v1::OperatorRequest own_node_request() {
  return {};
}

/// Sends a request to an actor of this process that always answers; the caller adds
/// `.then(on_result, on_error)`. It needs no timeout, which CAF 0.17 would keep until
/// it is due, also after the answer.
template <class Self, class Handle, class T>
auto ask_local(Self* self, const Handle& whom, T&& x) {
  return ask_without_limit(self, whom, std::forward<T>(x));
}

/// Shows an operator a status.
inline void answer(const operator_question& x, shared_status status) {
  if (x.show)
    return x.show(std::move(status));
  auto out = v1::OperatorReply{};
  *out.mutable_status() = *status->whole;
  x.reply(std::move(out));
}

inline v1::OperatorReply refusal_of_silence() {
  return refusal_of(errc::connection_timed_out, "the job does not answer");
}

inline v1::OperatorReply refusal_of_unknown() {
  return refusal_of(errc::protocol_mismatch,
                    "this process does not know the request");
}

} // namespace actorrun
