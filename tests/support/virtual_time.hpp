// Runs the actors of a system on the test's thread, in virtual time.
#pragma once

#include "messages/caf.hpp"

#include <caf/actor_clock.hpp>
#include <caf/resumable.hpp>

#if ACTORRUN_CAF_1
#include <caf/action.hpp>
#include <caf/detail/actor_system_access.hpp>
#include <caf/detail/cleanup_and_release.hpp>
#include <caf/disposable.hpp>
#include <caf/thread_hook.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#else
#include <caf/atom.hpp>
#include <caf/scheduler/test_coordinator.hpp>

#include <algorithm>
#endif

namespace actorrun::test {

#if ACTORRUN_CAF_1

/// The clock of a system. Time stands still between calls.
class virtual_clock final : public caf::actor_clock {
public:
  using caf::actor_clock::schedule;

  time_point now() const noexcept override { return now_; }

  caf::disposable schedule(time_point due, caf::action what) override {
    pending_.emplace(due, what);
    return std::move(what).as_disposable();
  }

private:
  friend class virtual_time;

  time_point now_{duration_type{1}};
  std::multimap<time_point, caf::action> pending_;
};

/// CAF's own for tests is not in its library.
class virtual_scheduler final : public caf::scheduler {
public:
  void schedule(caf::resumable* job) override { jobs_.push_back(job); }
  void delay(caf::resumable* job) override { jobs_.push_back(job); }
  void start() override {}

  void stop() override {
    while (!jobs_.empty()) {
      auto* job = jobs_.front();
      jobs_.pop_front();
      caf::detail::cleanup_and_release(job);
    }
  }

private:
  friend class virtual_time;

  std::deque<caf::resumable*> jobs_;
};

class virtual_time {
public:
  using time_point = caf::actor_clock::time_point;

  /// Systems that are built from `config` have virtual time.
  static void install(caf::actor_system_config& config) {
    config.add_thread_hook<hook>();
  }

  /// @pre `system` was built so
  explicit virtual_time(caf::actor_system& system)
    : scheduler_(dynamic_cast<virtual_scheduler&>(system.scheduler())),
      clock_(dynamic_cast<virtual_clock&>(system.clock())) {}

  /// Runs actors until none has a message. Returns how often one has run.
  size_t run() {
    auto count = size_t{0};
    for (; run_once(false); ++count)
      continue;
    return count;
  }

  /// Runs actors in turns, and `after_each` after each turn.
  template <class Function>
  void run_in_turns(Function after_each) {
    while (run_once(true))
      after_each();
  }

  time_point now() const { return clock_.now_; }
  void set_now(time_point x) { clock_.now_ = x; }

  /// Number of delayed messages that are pending.
  size_t pending_count() const {
    const auto& all = clock_.pending_;
    return static_cast<size_t>(
      std::count_if(all.begin(), all.end(),
                    [](const auto& x) { return !x.second.disposed(); }));
  }

  /// Delivers the next delayed message if it is due until `end`, at its time.
  bool deliver_next(time_point end) {
    const auto next = clock_.pending_.begin();
    if (next == clock_.pending_.end() || next->first > end)
      return false;
    clock_.now_ = std::max(clock_.now_, next->first);
    auto what = std::move(next->second);
    clock_.pending_.erase(next);
    what.run();
    return true;
  }

private:
  class hook final : public caf::thread_hook {
  public:
    void init(caf::actor_system& system) override {
      auto access = caf::detail::actor_system_access{system};
      access.clock(std::make_unique<virtual_clock>());
      access.scheduler(std::make_unique<virtual_scheduler>());
    }
    void thread_started(caf::thread_owner) override {}
    void thread_terminates() override {}
  };

  bool run_once(bool in_turns) {
    auto& jobs = scheduler_.jobs_;
    if (jobs.empty())
      return false;
    auto* job = jobs.front();
    jobs.pop_front();
    if (job->resume(&scheduler_, 1) != caf::resumable::resume_later)
      caf::intrusive_ptr_release(job);
    else if (in_turns)
      jobs.push_back(job);
    else
      jobs.push_front(job);
    return true;
  }

  virtual_scheduler& scheduler_;
  virtual_clock& clock_;
};

#else

class virtual_time {
public:
  using time_point = caf::actor_clock::time_point;

  /// Systems that are built from `config` have virtual time.
  static void install(caf::actor_system_config& config) {
    config.set("scheduler.policy", caf::atom("testing"));
  }

  /// @pre `system` was built so
  explicit virtual_time(caf::actor_system& system)
    : scheduler_(
      dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler())) {}

  /// Runs actors until none has a message. Returns how often one has run.
  size_t run() { return scheduler_.run(); }

  /// Runs actors in turns, and `after_each` after each turn.
  template <class Function>
  void run_in_turns(Function after_each) {
    auto& jobs = scheduler_.jobs;
    while (!jobs.empty()) {
      scheduler_.run_once();
      if (!jobs.empty())
        std::rotate(jobs.begin(), jobs.begin() + 1, jobs.end());
      after_each();
    }
  }

  time_point now() const { return scheduler_.clock().now(); }
  void set_now(time_point x) { scheduler_.clock().current_time = x; }

  /// Number of delayed messages that are pending.
  size_t pending_count() const { return scheduler_.clock().schedule().size(); }

  /// Delivers the next delayed message if it is due until `end`, at its time.
  bool deliver_next(time_point end) {
    const auto& pending = scheduler_.clock().schedule();
    return !pending.empty() && pending.begin()->first <= end
           && scheduler_.clock().trigger_timeout();
  }

private:
  caf::scheduler::test_coordinator& scheduler_;
};

#endif

} // namespace actorrun::test
