// A program that has been there before: it answers `lookup` from other processes.
// Now it has two jobs in its actor system, too, and follows their generations as
// typed messages.
//
// usage: embed PROGRAM [ARGUMENT…] | embed_client

#include "directory.hpp"

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/event_based_actor.hpp>
#include <caf/io/middleman.hpp>

#include <actorrun/runtime/actorrun.hpp>
#include <array>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>

using namespace actorrun;

namespace {

void print(const std::string& line) {
  std::cout << line + "\n" << std::flush;
}

// THE HOST'S OWN ACTOR knows how large each job is, and answers whoever asks.
caf::behavior directory() {
  const auto known = std::make_shared<std::map<std::string, placement>>();
  return {
    [=](const lookup& x) {
      auto& found = (*known)[x.job];
      found.job = x.job;
      return found;
    },
    [=](const placement& x) { (*known)[x.job] = x; },
  };
}

// A SUPERVISOR of one job. It could reshard data, update a load balancer or send
// an alert: it is notified of every change like the agents.
struct supervisor {
  static constexpr const char* name = "supervisor";

  supervisor(job_observer_actor::pointer, std::string job, caf::actor directory)
    : job_(std::move(job)), directory_(std::move(directory)) {}

  job_observer_actor::behavior_type make_behavior() {
    return {
      [this](const generation_begun& x) {
        tell(x.number(), x.plan.world_size);
        auto line = std::ostringstream{};
        line << job_ << ": generation " << x.number() << ": world size "
             << x.plan.world_size;
        print(line.str());
      },
      [this](const generation_over& x) {
        tell(x.number(), 0);
        auto line = std::ostringstream{};
        line << job_ << ": generation " << x.number()
             << " is over: " << x.reason;
        print(line.str());
      },
      [this](const job_over& x) {
        print(job_ + ": job ended: " + x.result.reason);
      },
    };
  }

  void on_exit() {}

private:
  void tell(uint64_t generation, uint32_t world_size) {
    tell_anonymously(directory_, placement{job_, generation, world_size});
  }

  std::string job_;
  caf::actor directory_;
};

// A JOB of this node with two workers, which may fail once.
result<std::unique_ptr<launcher>> start(caf::actor_system& system,
                                        const std::string& name,
                                        const std::vector<std::string>& command,
                                        job_observer_actor observer) {
  auto job = job_options{};
  job.job = {name};
  job.restart_count_max = 1;
  auto workers = agent_options{};
  workers.workers.command = command;
  workers.workers.slot_count = 2;
  auto hooks = launcher_hooks{};
  hooks.observers = {std::move(observer)};
  return launcher::start(system, job, workers, hooks);
}

int run(caf::actor_system& system, const std::vector<std::string>& command) {
  const auto known = system.spawn(directory);
  const auto port = system.middleman().publish(known, 0, "127.0.0.1");
  if (!port) {
    std::cerr << "embed: cannot publish the directory\n";
    return 1;
  }
  print("port " + std::to_string(*port));

  auto watchers = std::vector<job_observer_actor>{};
  auto jobs = std::vector<std::unique_ptr<launcher>>{};
  auto code = 0;
  for (const auto* name : {"left", "right"}) {
    watchers.push_back(
      system.spawn<actor_impl<job_observer_actor, supervisor>>(name, known));
    auto job = start(system, name, command, watchers.back());
    if (!job) {
      std::cerr << "embed: " << job.error().text << "\n";
      code = 1;
      break;
    }
    jobs.push_back(std::move(*job));
  }
  for (auto& job : jobs)
    if (!job->wait().succeeded())
      code = 1;
  jobs.clear();
  print("end");
  for (const auto& x : watchers)
    caf::anon_send_exit(x, caf::exit_reason::user_shutdown);
  system.middleman().unpublish(known, *port);
  caf::anon_send_exit(known, caf::exit_reason::user_shutdown);
  return code;
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::cerr << "usage: embed PROGRAM [ARGUMENT...] | embed_client\n";
    return 2;
  }
  caf::actor_system_config config;
  register_own_types(config);
  config.load<caf::io::middleman>(); // For the directory.
  configure(config);
  caf::actor_system system{config};
  return run(system, {argv + 1, argv + argc});
}
