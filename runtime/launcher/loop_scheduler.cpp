#include "runtime/launcher/loop_scheduler.hpp"

#include "runtime/os/reactor.hpp"

#include <caf/actor_system.hpp>
#if ACTORRUN_CAF_1
#include <caf/detail/actor_system_access.hpp>
#include <caf/detail/cleanup_and_release.hpp>
#include <caf/thread_hook.hpp>
#else
#include <caf/atom.hpp>
#include <caf/make_actor.hpp>
#include <caf/message_handler.hpp>
#include <caf/monitorable_actor.hpp>
#endif

#include <chrono>
#include <iostream>
#include <memory>
#include <string>
#include <utility>

namespace actorrun::detail {

namespace {

/// How long actors run, one after the other, before descriptors have their turn.
constexpr auto turn_max = std::chrono::microseconds{500};

/// Messages that one actor takes before it is the turn of others.
constexpr size_t messages_per_job = 8;

#if ACTORRUN_CAF_017

/// Prints what CAF's default handlers have to say, where it is said.
class error_printer final : public caf::monitorable_actor {
public:
  explicit error_printer(caf::actor_config& config)
    : monitorable_actor(config) {
    print_.assign([](caf::add_atom, caf::actor_id, const std::string& text) {
      std::cerr << text;
    });
  }

  void enqueue(caf::mailbox_element_ptr what, caf::execution_unit*) override {
    print_(what->content());
  }

private:
  caf::message_handler print_;
};

#else

using caf::detail::cleanup_and_release;

/// Replaces a system's scheduler and clock before its first thread starts.
class replacement final : public caf::thread_hook {
public:
  void init(caf::actor_system& system) override {
    auto access = caf::detail::actor_system_access{system};
    access.scheduler(std::make_unique<loop_scheduler>(system));
  }

  void thread_started(caf::thread_owner) override {}
  void thread_terminates() override {}
};

#endif

} // namespace

#if ACTORRUN_CAF_1

loop_scheduler::loop_scheduler(caf::actor_system& system) {
  auto clock = std::make_unique<loop_clock>(*home_);
  clock_ = clock.get();
  caf::detail::actor_system_access{system}.clock(std::move(clock));
}

void loop_scheduler::install(caf::actor_system_config& config) {
  config.add_thread_hook<replacement>();
}

void loop_scheduler::start() {}

#else

loop_scheduler::loop_scheduler(caf::actor_system& system)
  : abstract_coordinator(system) {}

void loop_scheduler::install(caf::actor_system_config& config) {
  config.module_factories.emplace_back(
    [](caf::actor_system& system) { return new loop_scheduler{system}; });
}

void loop_scheduler::start() {
  auto config = caf::actor_config{&unit_};
  utility_actors_[printer_id] = caf::make_actor<error_printer, caf::actor>(
    system().next_actor_id(), system().node(), &system(), config);
}

#endif

// Others may keep the reactor; what it still has to do for us is done now.
loop_scheduler::~loop_scheduler() {
  run_and_wait(*home_, [] {});
}

std::shared_ptr<reactor>
loop_scheduler::reactor_for(caf::actor_system& system) {
  if (const auto* ours = dynamic_cast<loop_scheduler*>(&system.scheduler()))
    return ours->home_;
  return std::make_shared<reactor>();
}

// As CAF's own: the actors that wait have their turn, then none has.
void loop_scheduler::stop() {
  run_and_wait(*home_, [this] {
    take_turn();
#if ACTORRUN_CAF_1
    clock_->stop();
#else
    clock_.stop();
#endif
    stopped_ = true;
    while (!jobs_.empty()) {
      auto* job = jobs_.front();
      jobs_.pop_front();
      cleanup_and_release(job);
    }
  });
}

void loop_scheduler::take(caf::resumable* job) {
  if (home_->on_thread())
    add(job);
  else
    home_->post([this, job] { add(job); });
}

void loop_scheduler::add(caf::resumable* job) {
  if (stopped_) {
    cleanup_and_release(job);
    return;
  }
  jobs_.push_back(job);
  if (!std::exchange(has_turn_, true))
    home_->at_end_of_round([this] { take_turn(); });
}

void loop_scheduler::take_turn() {
  const auto end = std::chrono::steady_clock::now() + turn_max;
  while (!jobs_.empty() && std::chrono::steady_clock::now() < end) {
    auto* job = jobs_.front();
    jobs_.pop_front();
    run(job);
  }
  has_turn_ = !jobs_.empty();
  if (has_turn_)
    home_->post([this] { take_turn(); });
}

void loop_scheduler::run(caf::resumable* job) {
#if ACTORRUN_CAF_1
  auto* host = this;
#else
  auto* host = &unit_;
#endif
  if (job->resume(host, messages_per_job) == caf::resumable::resume_later)
    jobs_.push_back(job);
  else
    caf::intrusive_ptr_release(job);
}

} // namespace actorrun::detail
