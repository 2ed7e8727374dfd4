#include "runtime/launcher/loop_clock.hpp"

#include <caf/abstract_actor.hpp>
#include <caf/actor_cast.hpp>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

using base = caf::detail::simple_actor_clock;

/// Holds an actor until the reactor gets to it.
caf::strong_actor_ptr hold(caf::abstract_actor* x) {
  return caf::actor_cast<caf::strong_actor_ptr>(x);
}

// The steady clock of libstdc++ is CLOCK_MONOTONIC. All zero would disarm.
timespec to_timespec(base::time_point due) {
  using namespace std::chrono;
  const auto left = std::max<nanoseconds>(due.time_since_epoch(), 1ns);
  const auto whole = duration_cast<seconds>(left);
  return {.tv_sec = whole.count(), .tv_nsec = (left - whole).count()};
}

unique_fd open_alarm() {
  auto fd
    = unique_fd{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
  if (fd)
    return fd;
  std::perror("actorrun: clock");
  std::abort();
}

} // namespace

void loop_clock::set_ordinary_timeout(time_point due, caf::abstract_actor* self,
                                      caf::atom_value type, uint64_t id) {
  if (!home_.on_thread())
    return home_.post([=, this, held = hold(self)] {
      set_ordinary_timeout(due, held->get(), type, id);
    });
  base::set_ordinary_timeout(due, self, type, id);
  arm();
}

void loop_clock::set_multi_timeout(time_point due, caf::abstract_actor* self,
                                   caf::atom_value type, uint64_t id) {
  if (!home_.on_thread())
    return home_.post([=, this, held = hold(self)] {
      set_multi_timeout(due, held->get(), type, id);
    });
  base::set_multi_timeout(due, self, type, id);
  arm();
}

void loop_clock::set_request_timeout(time_point due, caf::abstract_actor* self,
                                     caf::message_id id) {
  if (!home_.on_thread())
    return home_.post([=, this, held = hold(self)] {
      set_request_timeout(due, held->get(), id);
    });
  base::set_request_timeout(due, self, id);
  arm();
}

// An actor that cancels may be about to go: its number is enough. An alarm for
// what is cancelled finds nothing.
void loop_clock::cancel_ordinary_timeout(caf::abstract_actor* self,
                                         caf::atom_value type) {
  const auto what = ordinary_timeout_cancellation{self->id(), type};
  if (!home_.on_thread())
    return home_.post([this, what] { handle(what); });
  handle(what);
}

void loop_clock::cancel_request_timeout(caf::abstract_actor* self,
                                        caf::message_id id) {
  const auto what = request_timeout_cancellation{self->id(), id};
  if (!home_.on_thread())
    return home_.post([this, what] { handle(what); });
  handle(what);
}

void loop_clock::cancel_timeouts(caf::abstract_actor* self) {
  const auto what = timeouts_cancellation{self->id()};
  if (!home_.on_thread())
    return home_.post([this, what] { handle(what); });
  handle(what);
}

void loop_clock::schedule_message(time_point due,
                                  caf::strong_actor_ptr receiver,
                                  caf::mailbox_element_ptr content) {
  if (!home_.on_thread()) {
    auto held = std::make_shared<caf::mailbox_element_ptr>(std::move(content));
    return home_.post([this, due, to = std::move(receiver), held] {
      schedule_message(due, to, std::move(*held));
    });
  }
  base::schedule_message(due, std::move(receiver), std::move(content));
  arm();
}

void loop_clock::schedule_message(time_point due, caf::group target,
                                  caf::strong_actor_ptr sender,
                                  caf::message content) {
  if (!home_.on_thread())
    return home_.post(
      [=, this] { schedule_message(due, target, sender, content); });
  base::schedule_message(due, std::move(target), std::move(sender),
                         std::move(content));
  arm();
}

void loop_clock::cancel_all() {
  if (!home_.on_thread())
    return home_.post([this] { base::cancel_all(); });
  base::cancel_all();
}

// Once for each moment that is the next; what is cancelled leaves its alarm.
void loop_clock::arm() {
  if (schedule_.empty() || schedule_.begin()->first >= armed_for_)
    return;
  if (!alarm_) {
    alarm_ = open_alarm();
    home_.watch(alarm_.get(), EPOLLIN, [this](uint32_t) {
      auto count = uint64_t{};
      [[maybe_unused]] const auto size
        = ::read(alarm_.get(), &count, sizeof count);
      armed_for_ = time_point::max();
      trigger_expired_timeouts();
      arm();
    });
  }
  armed_for_ = schedule_.begin()->first;
  const auto when
    = itimerspec{.it_interval = {}, .it_value = to_timespec(armed_for_)};
  ::timerfd_settime(alarm_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void loop_clock::stop() {
  base::cancel_all();
  if (alarm_)
    home_.unwatch(alarm_.get());
  alarm_.reset();
  armed_for_ = time_point::min(); // Nothing is earlier.
}

} // namespace actorrun::detail
