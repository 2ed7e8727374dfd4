// Runs CAF's clock on a reactor, so that it needs no thread of its own.
#pragma once

#include "messages/caf.hpp"
#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"

#if ACTORRUN_CAF_1
#include <caf/action.hpp>
#include <caf/actor_clock.hpp>
#include <caf/disposable.hpp>
#else
#include <caf/detail/simple_actor_clock.hpp>
#endif

#include <map>
#include <memory>

namespace actorrun::detail {

/// Calls back at one moment, exactly: the reactor's own timers count milliseconds.
/// Belongs to the reactor's thread.
class loop_alarm {
public:
  using time_point = caf::actor_clock::time_point;

  /// @pre `home` outlives the alarm
  explicit loop_alarm(reactor& home) : home_(home) {}

  /// Calls `fn` at `due`, or at an earlier moment for which it was armed. Once for
  /// each moment that is the next; what is cancelled leaves its alarm.
  void arm(time_point due, reactor::task fn);

  /// Never calls again.
  void stop();

private:
  reactor& home_;
  reactor::task fn_;
  unique_fd fd_;
  time_point armed_for_ = time_point::max();
};

#if ACTORRUN_CAF_1

/// Runs what is due on the reactor's thread. Any thread may schedule; what others
/// schedule takes effect when the reactor gets to it.
class loop_clock final : public caf::actor_clock {
public:
  /// @pre `home` outlives the clock
  explicit loop_clock(reactor& home);

  /// Runs nothing any more. @pre on the reactor's thread
  void stop();

  using caf::actor_clock::schedule;
  caf::disposable schedule(time_point due, caf::action what) override;

private:
  struct agenda;

  reactor& home_;
  /// Belongs to the reactor's thread. Shared with what others have scheduled.
  std::shared_ptr<agenda> agenda_;
};

#else

/// Delivers what is due on the reactor's thread. All functions may be called
/// from any thread; those of other threads take effect when the reactor gets to
/// them.
class loop_clock final : public caf::detail::simple_actor_clock {
public:
  /// @pre `home` outlives the clock
  explicit loop_clock(reactor& home) : home_(home), alarm_(home) {}

  /// Delivers nothing any more. @pre on the reactor's thread
  void stop();

  void set_ordinary_timeout(time_point due, caf::abstract_actor* self,
                            caf::atom_value type, uint64_t id) override;
  void set_multi_timeout(time_point due, caf::abstract_actor* self,
                         caf::atom_value type, uint64_t id) override;
  void set_request_timeout(time_point due, caf::abstract_actor* self,
                           caf::message_id id) override;
  void cancel_ordinary_timeout(caf::abstract_actor* self,
                               caf::atom_value type) override;
  void cancel_request_timeout(caf::abstract_actor* self,
                              caf::message_id id) override;
  void cancel_timeouts(caf::abstract_actor* self) override;
  void schedule_message(time_point due, caf::strong_actor_ptr receiver,
                        caf::mailbox_element_ptr content) override;
  void schedule_message(time_point due, caf::group target,
                        caf::strong_actor_ptr sender,
                        caf::message content) override;
  void cancel_all() override;

private:
  void arm();

  reactor& home_;
  // The rest, and what we inherit, belongs to the reactor's thread.
  loop_alarm alarm_;
};

#endif

} // namespace actorrun::detail
