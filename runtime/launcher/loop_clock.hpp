// Runs CAF's clock on a reactor, so that it needs no thread of its own.
#pragma once

#include "runtime/os/reactor.hpp"
#include "runtime/os/unique_fd.hpp"

#include <caf/detail/simple_actor_clock.hpp>

namespace actorrun::detail {

/// Delivers what is due on the reactor's thread. All functions may be called
/// from any thread; those of other threads take effect when the reactor gets to
/// them.
class loop_clock final : public caf::detail::simple_actor_clock {
public:
  /// @pre `home` outlives the clock
  explicit loop_clock(reactor& home) : home_(home) {}

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
  unique_fd alarm_; ///< Exact; the reactor's own timers count milliseconds.
  time_point armed_for_ = time_point::max();
};

} // namespace actorrun::detail
