// Runs core::leadership against etcd, on a thread of its own, so that no worker
// and no actor waits for etcd.
#pragma once

#include "actors/core/protocol/leadership.hpp"
#include "actors/log.hpp"
#include "runtime/etcd/client.hpp"
#include "runtime/os/clock.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <variant>

namespace actorrun::detail {

/// At most so long a launcher that ends takes to report that to etcd.
inline constexpr auto resign_limit = std::chrono::seconds{1};

struct etcd_leadership_config {
  core::leadership_options options;
  /// Timeout of one request to etcd.
  core::duration request_limit = std::chrono::seconds{5};
  std::unique_ptr<etcd_client> registry;
  /// Starts the coordinator; returns where it listens, `host:port`.
  std::function<result<std::string>(const core::open_coordinator& order,
                                    const etcd_link& registry)>
    open_coordinator;
  /// Ends the coordinator and returns when its port is closed. May be called
  /// when there is none. Neither function may call back.
  std::function<void()> close_coordinator;
  log lines{};
  /// As `detail::time_asleep`: a lease in etcd goes on while this machine is
  /// suspended.
  std::function<core::duration()> asleep = time_asleep;
};

/// `core_` reckons with a clock that goes on while the machine is suspended;
/// requests and waits have the steady one.
class etcd_leadership {
public:
  /// The coordinator is in this process.
  struct here {};

  /// A text is an endpoint to try; another answer follows unless
  /// `endpoint_reached` is reported.
  using answer = std::variant<here, std::string, failure>;
  using seeker = std::function<void(const answer&)>;

  explicit etcd_leadership(etcd_leadership_config config);

  /// As `stop`.
  ~etcd_leadership();

  etcd_leadership(const etcd_leadership&) = delete;
  etcd_leadership& operator=(const etcd_leadership&) = delete;

  // All from any thread. Only `stop` waits.

  /// Searches for the coordinator, or becomes it. One search at a time.
  void seek(bool was_member, seeker on_answer);

  /// Reports the result for an endpoint: `endpoint_reached`, `…_gone` or
  /// `…_failed`.
  void report(core::leadership_event what);

  /// Gives up the leadership for good.
  void resign(bool job_over);

  /// Returns a check whether our coordinator leads at this moment. May outlive
  /// this object.
  std::function<bool()> leadership_check() const;

  /// Resigns; waits for at most `resign_limit` until etcd knows.
  void stop();

private:
  using clock = etcd_client::clock;
  using reply = std::optional<core::leadership_event>;
  struct effect_runner;

  struct incoming {
    core::leadership_event event;
    seeker on_answer{};
  };

  void post(incoming x);
  std::optional<incoming> next();
  void run();
  void dispatch(core::leadership_event event);
  clock::time_point now() const { return clock::now() + config_.asleep(); }
  clock::time_point limit(std::optional<clock::time_point> deadline) const;
  void report(const answer& x, bool is_last);

  etcd_leadership_config config_;
  std::shared_ptr<std::atomic<clock::rep>> leadership_end_
    = std::make_shared<std::atomic<clock::rep>>(0);
  // These belong to the thread.
  core::leadership core_;
  seeker seeker_;
  core::arm_timer timer_{};

  std::mutex mutex_; // Guards the rest.
  std::condition_variable news_;
  std::deque<incoming> inbox_;
  bool is_stopping_ = false;

  std::thread thread_;
};

} // namespace actorrun::detail
