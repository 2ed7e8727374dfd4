// Runs the actors of a system on the thread of a reactor.
#pragma once

#include "messages/caf.hpp"
#include "runtime/launcher/loop_clock.hpp"
#include "runtime/os/reactor.hpp"

#include <caf/actor_system_config.hpp>
#include <caf/resumable.hpp>
#if ACTORRUN_CAF_017
#include <caf/execution_unit.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>
#endif

#include <deque>
#include <memory>

namespace actorrun::detail {

#if ACTORRUN_CAF_1
using scheduler_base = caf::scheduler;
#else
using scheduler_base = caf::scheduler::abstract_coordinator;
#endif

/// CAF's scheduler for a node without the coordinator of others: its actors have
/// little to do, and most messages come from the reactor or go there. They then wake
/// no other thread, and CAF's threads for work, time and printing are not needed.
///
/// An actor that blocks holds up the reactor.
/// @see reactor
class loop_scheduler final : public scheduler_base {
public:
  explicit loop_scheduler(caf::actor_system& system);
  ~loop_scheduler() override;

  /// Lets the actors of systems that are built from `config` run so.
  static void install(caf::actor_system_config& config);

  /// The reactor to run on for `system`'s parts: the one that runs its actors,
  /// else one of their own.
  static std::shared_ptr<reactor> reactor_for(caf::actor_system& system);

  void start() override;

  /// Ends the actors that have something to do.
  void stop() override;

#if ACTORRUN_CAF_1
  void schedule(caf::resumable* job) override {
    take(job);
  }
  void delay(caf::resumable* job) override {
    take(job);
  }
#else
  void enqueue(caf::resumable* job) override {
    take(job);
  }
  caf::actor_clock& clock() noexcept override {
    return clock_;
  }
  bool detaches_utility_actors() const override {
    return false;
  }
#endif

private:
#if ACTORRUN_CAF_017
  /// What actors send from.
  class unit final : public caf::execution_unit {
  public:
    explicit unit(loop_scheduler& parent)
      : execution_unit(&parent.system()), parent_(parent) {}

    void exec_later(caf::resumable* job) override { parent_.add(job); }

  private:
    loop_scheduler& parent_;
  };
#endif

  void take(caf::resumable* job);
  void add(caf::resumable* job);
  void take_turn();
  void run(caf::resumable* job);

  const std::shared_ptr<reactor> home_ = std::make_shared<reactor>();
  // The rest belongs to the reactor's thread.
#if ACTORRUN_CAF_1
  loop_clock* clock_ = nullptr; ///< The system owns it, and ends it after this.
#else
  loop_clock clock_{*home_};
  unit unit_{*this};
#endif
  std::deque<caf::resumable*> jobs_;
  bool has_turn_ = false;
  bool stopped_ = false;
};

} // namespace actorrun::detail
