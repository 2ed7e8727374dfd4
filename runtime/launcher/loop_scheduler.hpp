// Runs the actors of a system on the thread of a reactor.
#pragma once

#include "runtime/launcher/loop_clock.hpp"
#include "runtime/os/reactor.hpp"

#include <caf/execution_unit.hpp>
#include <caf/resumable.hpp>
#include <caf/scheduler/abstract_coordinator.hpp>

#include <deque>
#include <memory>

namespace actorrun::detail {

/// CAF's scheduler for a job of one node, where actors have little to do and
/// most messages lie between them and the reactor. A message then wakes no other
/// thread, and CAF's threads for work, time and printing are not needed.
///
/// An actor that blocks holds up the reactor.
/// @see reactor
class loop_scheduler final : public caf::scheduler::abstract_coordinator {
public:
  explicit loop_scheduler(caf::actor_system& system);
  ~loop_scheduler() override;

  /// The reactor to run on for `system`'s parts: the one that runs its actors,
  /// else one of their own.
  static std::shared_ptr<reactor> reactor_for(caf::actor_system& system);

  void start() override;

  /// Ends the actors that have something to do.
  void stop() override;

  void enqueue(caf::resumable* job) override;
  caf::actor_clock& clock() noexcept override { return clock_; }
  bool detaches_utility_actors() const override { return false; }

private:
  /// What actors send from.
  class unit final : public caf::execution_unit {
  public:
    explicit unit(loop_scheduler& parent)
      : execution_unit(&parent.system()), parent_(parent) {}

    void exec_later(caf::resumable* job) override { parent_.add(job); }

  private:
    loop_scheduler& parent_;
  };

  void add(caf::resumable* job);
  void take_turn();
  void run(caf::resumable* job);

  const std::shared_ptr<reactor> home_ = std::make_shared<reactor>();
  // The rest belongs to the reactor's thread.
  loop_clock clock_{*home_};
  unit unit_{*this};
  std::deque<caf::resumable*> jobs_;
  bool has_turn_ = false;
  bool stopped_ = false;
};

} // namespace actorrun::detail
