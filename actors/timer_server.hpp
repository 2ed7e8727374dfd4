// Watches the deadlines of one agent's workers: runs core::timer_table over the
// timer_source and notice_source ports.
#pragma once

#include "actors/core/timers/early.hpp"
#include "actors/core/timers/progress_notice.hpp"
#include "actors/core/timers/table.hpp"
#include "actors/log.hpp"
#include "actors/ports/timer_source.hpp"
#include "actors/timed_sessions.hpp"
#include "actors/timer_interface.hpp"
#include "actors/timer_requests.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace actorrun {

/// At most this many bytes and notices in one turn; then other actors have theirs.
inline constexpr size_t timer_turn = 256 * 1024;
inline constexpr size_t notice_turn = 512;

/// Before the server reports an overrun, it reads what is in the FIFO. If that
/// was full, a worker may have had to wait to write; so the server reads again,
/// at most this many times.
inline constexpr uint32_t timer_drains_max = 16;

/// At most this many requests of processes that belong to no worker are examined.
inline constexpr uint32_t timer_unknown_clients_max = 16;

/// Names the timer that `WATCHDOG=1` renews.
inline constexpr std::string_view watchdog_scope = "watchdog";

/// Workers have written requests.
struct timer_lines_ready {};

/// Workers have sent notices to their service manager.
struct timer_notices_ready {};

/// Other actors have had a pause: go on.
struct timers_go_on {};

using own_timer_server_actor = timer_server_actor::extend<
  // Sent by its ports.
  message_signature<void(timer_lines_ready)>::type,
  message_signature<void(timer_notices_ready)>::type,
  // Sent by itself.
  message_signature<void(timers_go_on)>::type,
  message_signature<void(core::timer_fired)>::type>;

class timer_server_state {
public:
  static constexpr const char* name = "timer-server";

  timer_server_state(own_timer_server_actor::pointer self,
                     timer_server_config config);

  own_timer_server_actor::behavior_type make_behavior();
  void on_exit();

private:
  struct effect_runner;

  /// Receives the overruns of a generation's workers.
  struct listener {
    caf::actor_addr address;
    std::set<uint32_t> local_ranks; ///< Of running workers.
  };

  /// An actor of this program. In the table it is a worker of generation 0.
  struct client {
    uint32_t number = 0; ///< 0: it is not in the table.
    caf::actor_addr listener;
  };

  // -- messages ---------------------------------------------------------------

  void obey(const workers_timed& x);
  void obey(const workers_untimed& x);
  void obey(const acquire_timer& x);
  void obey(const release_timer& x);
  void obey(const acquire_worker_timer& x);
  void obey(const release_worker_timer& x);
  void obey(const timer_lines_ready&) { read_lines(); }
  void obey(const timer_notices_ready&) { read_notices(); }
  void obey(const timers_go_on&) {} // What is left is done after any message.
  void obey(const core::timer_fired& x) { dispatch(x); }
  timer_figures figures() const;

  // -- decisions --------------------------------------------------------------

  void dispatch(const core::timer_event& event);
  void tell_acquired(const core::timed_worker& who, std::string_view scope,
                     core::duration left);
  void tell_released(const core::timed_worker& who, std::string_view scope);
  bool is_pardoned(const core::overrun& x);
  void settle();
  void report(const core::overrun& x);
  void notify_listener(const core::overrun& x);
  void notify_client(const core::overrun& x);
  void end_members(const core::timed_worker& who);
  void forget_client(const caf::actor_addr& address);

  // -- reading ----------------------------------------------------------------

  void read_lines();
  void read_notices();
  void read_all();
  size_t read_some(size_t limit);
  bool read_notice();
  void take(const core::timer_request& x, core::duration wall_offset,
            core::time_point when);
  void take(const core::progress_notice& x, int64_t pid,
            const core::timed_worker& who);
  bool admit(const core::timer_request& x, core::duration wall_offset);
  bool admit_member(core::timed_worker who, int64_t pid);
  void watch_source();
  void watch_notices();
  void report_unknown_client(int64_t pid);

  core::time_point clock_now() const { return self_->clock().now(); }
  template <class Message>
  std::function<void()> telling(Message what) const;

  own_timer_server_actor::pointer self_;
  timer_server_config config_;
  std::optional<core::timer_table> table_; ///< Until the end.
  timer_requests requests_;
  core::early_requests early_;
  core::early_items<core::progress_notice> early_notices_;
  timed_sessions members_;
  core::time_point now_; ///< Read once per message and per read.
  std::map<generation_id, listener> listeners_;
  watch_list watches_;
  std::map<caf::actor_addr, client> clients_;
  uint32_t last_client_ = 0;
  uint64_t drain_ordered_ = 0; ///< The last round that the table ordered …
  uint64_t drain_done_ = 0;    ///< … and the last that was done.
  /// Intervals that workers have asked for instead of `config_.watchdog`, by pid: a
  /// live worker says it once, and keeps it from generation to generation.
  std::map<int64_t, core::duration> watchdogs_;
  /// Workers that live on without a generation: what they say counts for none.
  std::set<int64_t> parked_;
  uint32_t unknown_client_count_ = 0;
};

} // namespace actorrun

ACTORRUN_BEGIN_LOCAL_TYPES(actorrun_timer_server, ACTORRUN_FIRST_TYPE_ID + 220)
ACTORRUN_LOCAL_TYPE(actorrun_timer_server, actorrun::timer_lines_ready)
ACTORRUN_LOCAL_TYPE(actorrun_timer_server, actorrun::timer_notices_ready)
ACTORRUN_LOCAL_TYPE(actorrun_timer_server, actorrun::timers_go_on)
ACTORRUN_END_LOCAL_TYPES(actorrun_timer_server)
