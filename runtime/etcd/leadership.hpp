// Runs core::leadership against etcd, as an actor with a thread of its own, so
// that no worker and no other actor waits for etcd.
#pragma once

#include "actors/core/protocol/leadership.hpp"
#include "actors/interfaces.hpp"
#include "actors/log.hpp"
#include "messages/caf.hpp"
#include "runtime/etcd/client.hpp"
#include "runtime/network/actor_watch.hpp"
#include "runtime/os/clock.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <variant>

namespace actorrun::detail {

/// A launcher that ends takes at most this long to report that to etcd.
inline constexpr auto resign_limit = std::chrono::seconds{1};

struct etcd_leadership_config {
  core::leadership_options options;
  /// Timeout of one request to etcd.
  core::duration request_limit = std::chrono::seconds{5};
  std::shared_ptr<etcd_client> registry;
  /// Starts the coordinator; returns where it listens, `host:port`.
  std::function<result<std::string>(const core::open_coordinator& order,
                                    const etcd_link& registry)>
    open_coordinator;
  /// Ends the coordinator and returns when its port is closed. May be called
  /// when there is none. Neither function may call back.
  std::function<void(const std::string& reason)> close_coordinator;
  /// The actor has ended unexpectedly; as `actor_watch`. May be empty.
  actor_watch::callback on_died{};
  log lines{};
  /// As `detail::time_asleep`: a lease in etcd goes on while this machine is
  /// suspended.
  std::function<core::duration()> asleep = time_asleep;
};

/// Whether an endpoint that was to be tried is the coordinator's.
using endpoint_report
  = std::variant<core::endpoint_reached, core::endpoint_gone,
                 core::endpoint_failed>;

/// The handle of an actor with a thread of its own, which may wait for etcd. All
/// but `stop` return at once, on any thread.
class etcd_leadership {
public:
  /// The coordinator is in this process.
  struct here {};

  /// A text is an endpoint to try; another answer follows unless
  /// `endpoint_reached` is reported.
  using answer = std::variant<here, std::string, failure>;
  using seeker = std::function<void(const answer&)>;

  struct start_now {};

  /// Search for the coordinator, or become it.
  struct search {
    bool was_member = false;
    seeker on_answer;
  };

  /// The job has ended: have that known before agents learn of it.
  struct outcome {
    std::function<void()> on_written;
  };

  /// Resign, and end.
  struct stop_now {};

  using actor = interface<
    // Campaign, if it always does.
    void(start_now),
    // The agent of this node looks for the coordinator.
    void(search),
    // What has become of the endpoint that it was to try.
    void(endpoint_report),
    // Give up the leadership for good.
    void(core::resign_requested),
    // What the next coordinator must know has changed.
    void(core::job_changed),
    // The coordinator has decided how the job has ended.
    void(outcome),
    // Sent by itself: a timer that it has armed.
    void(core::timer_fired),
    // Resign, and end.
    void(stop_now)>;

  /// Waits for `begin`.
  /// @pre `system` outlives it
  etcd_leadership(caf::actor_system& system, etcd_leadership_config config);

  /// As `stop`.
  ~etcd_leadership();

  etcd_leadership(const etcd_leadership&) = delete;
  etcd_leadership& operator=(const etcd_leadership&) = delete;

  /// From now on callbacks are called. Before all others, once.
  void begin();

  /// Searches for the coordinator, or becomes it. One search at a time.
  void seek(bool was_member, seeker on_answer);

  void report(endpoint_report what);

  /// Gives up the leadership for good.
  void resign(bool job_over);

  /// What the next coordinator must know is written to etcd, as soon as it can be.
  void change_job(core::charter job);

  /// Writes to etcd that the job is over.
  /// @param on_written Called on any thread when it is known, or no coordinator leads here;
  ///                   maybe never.
  void write_outcome(std::function<void()> on_written);

  /// Returns a check whether our coordinator leads at this moment. May outlive
  /// this object.
  std::function<bool()> leadership_check() const;

  /// Resigns; waits for at most `resign_limit` until etcd knows, and until no
  /// callback runs any more.
  void stop();

private:
  using clock = etcd_client::clock;

  caf::actor_system& system_;
  std::shared_ptr<etcd_client> registry_;
  std::function<core::duration()> asleep_;
  std::shared_ptr<std::atomic<clock::rep>> leadership_end_
    = std::make_shared<std::atomic<clock::rep>>(0);
  actor actor_;
  actor_watch watch_;
  bool is_stopped_ = false;
};

/// Makes the messages of that actor known to CAF. @see register_message_types
void register_leadership_types();

} // namespace actorrun::detail

ACTORRUN_BEGIN_LOCAL_TYPES(actorrun_leadership, ACTORRUN_FIRST_TYPE_ID + 230)
ACTORRUN_LOCAL_TYPE(actorrun_leadership,
                    actorrun::detail::etcd_leadership::start_now)
ACTORRUN_LOCAL_TYPE(actorrun_leadership,
                    actorrun::detail::etcd_leadership::search)
ACTORRUN_LOCAL_TYPE(actorrun_leadership, actorrun::detail::endpoint_report)
ACTORRUN_LOCAL_TYPE(actorrun_leadership, actorrun::core::resign_requested)
ACTORRUN_LOCAL_TYPE(actorrun_leadership,
                    actorrun::detail::etcd_leadership::stop_now)
ACTORRUN_LOCAL_TYPE(actorrun_leadership, actorrun::core::job_changed)
ACTORRUN_LOCAL_TYPE(actorrun_leadership,
                    actorrun::detail::etcd_leadership::outcome)
ACTORRUN_END_LOCAL_TYPES(actorrun_leadership)
