// Sends what only tests send, whatever CAF they are built with.
#pragma once

#include "messages/caf.hpp"

#include <functional>
#include <utility>

namespace actorrun::test {

using actorrun::tell_as;

/// Calls back when `whom` ends. At most once for each actor.
template <class Self, class Handle>
void notice_end(Self* self, const Handle& whom, std::function<void()> fn) {
#if ACTORRUN_CAF_1
  self->monitor(whom, [fn = std::move(fn)](const caf::error&) { fn(); });
#else
  self->set_down_handler([fn = std::move(fn)](const caf::down_msg&) { fn(); });
  self->monitor(whom);
#endif
}

// CAF 1 would rather have these in every behavior.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/// Errors do not end the actor.
template <class Self>
void ignore_errors(Self* self) {
  self->set_error_handler([](caf::error&) {});
}

/// Messages that the actor does not know wait in its mailbox.
template <class Self>
void skip_unknown_messages(Self* self) {
  self->set_default_handler(caf::skip);
}

#pragma GCC diagnostic pop

} // namespace actorrun::test
