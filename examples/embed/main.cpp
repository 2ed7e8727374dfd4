// A host program with actors of its own: starts a job of two agents in its
// actor system and follows the epochs as typed messages.
//
// usage: embed PROGRAM [ARGUMENT…]

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <actorrun/runtime/actorrun.hpp>
#include <iostream>

using namespace actorrun;

namespace {

// An actor of the host program. It could reshard data, update a load balancer
// or send an alert: it is notified of every change like the agents.
struct epoch_watcher {
  static constexpr const char* name = "epoch-watcher";

  explicit epoch_watcher(job_observer_actor::pointer) {}

  job_observer_actor::behavior_type make_behavior() {
    return {
      [](const v1::EpochFormed& x) {
        std::cout << "epoch " << x.plan().epoch() << ": world size "
                  << x.plan().world_size() << std::endl;
      },
      [](const v1::EpochRevoked& x) {
        std::cout << "epoch " << x.epoch() << " is over: " << x.reason()
                  << std::endl;
      },
      [](const v1::JobEnded& x) {
        std::cout << "job ended: " << x.outcome().reason() << std::endl;
      },
    };
  }

  void on_exit() {}
};

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: embed PROGRAM [ARGUMENT...]\n";
    return 2;
  }
  caf::actor_system_config config;
  configure(config);
  caf::actor_system system{config};

  auto job = job_options{};
  job.job = {"embedded"};
  auto workers = agent_options{};
  workers.workers.command = {argv + 1, argv + argc};
  workers.workers.slot_count = 2;
  auto watcher = system.spawn<actor_impl<job_observer_actor, epoch_watcher>>();
  auto hooks = launcher_hooks{};
  hooks.observers = {watcher};
  auto node = launcher::start(system, job, workers, hooks);
  if (!node) {
    std::cerr << "embed: " << node.error().text << "\n";
    return 1;
  }

  const auto how = (*node)->wait();
  caf::anon_send_exit(watcher, caf::exit_reason::user_shutdown);
  return how.result && how.result->kind == core::outcome::verdict::succeeded
           ? 0
           : 1;
}
