#include "runtime/launcher/loop_clock.hpp"

#include "runtime/os/resource_limits.hpp"

#include <caf/abstract_actor.hpp>
#include <caf/actor_cast.hpp>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <utility>

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace actorrun::detail {

namespace {

// The steady clock of libstdc++ is CLOCK_MONOTONIC. All zero would disarm.
timespec to_timespec(loop_alarm::time_point due) {
  using namespace std::chrono;
  const auto left = std::max<nanoseconds>(due.time_since_epoch(), 1ns);
  const auto whole = duration_cast<seconds>(left);
  return {.tv_sec = whole.count(), .tv_nsec = (left - whole).count()};
}

unique_fd open_alarm() {
  auto fd
    = unique_fd{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
  if (!fd)
    end_for_lack_of("descriptor", errno);
  return fd;
}

} // namespace

// -- alarm --------------------------------------------------------------------

void loop_alarm::arm(time_point due, reactor::task fn) {
  if (due >= armed_for_)
    return;
  fn_ = std::move(fn);
  if (!fd_) {
    fd_ = open_alarm();
    home_.watch(fd_.get(), EPOLLIN, [this](uint32_t) {
      auto count = uint64_t{};
      [[maybe_unused]] const auto size
        = ::read(fd_.get(), &count, sizeof count);
      armed_for_ = time_point::max();
      if (const auto call = std::exchange(fn_, nullptr))
        call();
    });
  }
  armed_for_ = due;
  const auto when = itimerspec{.it_interval = {}, .it_value = to_timespec(due)};
  ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void loop_alarm::stop() {
  if (fd_)
    home_.unwatch(fd_.get());
  fd_.reset();
  fn_ = nullptr;
  armed_for_ = time_point::min(); // Nothing is earlier.
}

// -- clock --------------------------------------------------------------------

#if ACTORRUN_CAF_1

struct loop_clock::agenda {
  explicit agenda(reactor& home) : alarm(home) {}

  void add(time_point due, caf::action what) {
    if (is_stopped)
      return;
    items.emplace(due, std::move(what));
    arm();
  }

  void arm() {
    if (!items.empty())
      alarm.arm(items.begin()->first, [this] { run_due(); });
  }

  void run_due() {
    const auto now = std::chrono::steady_clock::now();
    while (!items.empty() && items.begin()->first <= now) {
      auto what = std::move(items.begin()->second);
      items.erase(items.begin());
      what.run(); // Nothing, if it was disposed.
    }
    arm();
  }

  std::multimap<time_point, caf::action> items;
  loop_alarm alarm;
  bool is_stopped = false;
};

loop_clock::loop_clock(reactor& home)
  : home_(home), agenda_(std::make_shared<agenda>(home)) {}

void loop_clock::stop() {
  agenda_->is_stopped = true;
  agenda_->alarm.stop();
  agenda_->items.clear();
}

caf::disposable loop_clock::schedule(time_point due, caf::action what) {
  auto out = what.as_disposable();
  if (home_.on_thread())
    agenda_->add(due, std::move(what));
  else
    home_.post([to = agenda_, due, what = std::move(what)]() mutable {
      to->add(due, std::move(what));
    });
  return out;
}

#else

namespace {

using base = caf::detail::simple_actor_clock;

/// Holds an actor until the reactor gets to it.
caf::strong_actor_ptr hold(caf::abstract_actor* x) {
  return caf::actor_cast<caf::strong_actor_ptr>(x);
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

void loop_clock::arm() {
  if (schedule_.empty())
    return;
  alarm_.arm(schedule_.begin()->first, [this] {
    trigger_expired_timeouts();
    arm();
  });
}

void loop_clock::stop() {
  base::cancel_all();
  alarm_.stop();
}

#endif

} // namespace actorrun::detail
