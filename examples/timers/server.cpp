// A timer server in three functions: a job whose timers are only recorded, to
// measure how long steps take before timers kill workers.
//
// usage: timer_notes PROGRAM [ARGUMENT…]

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <actorrun/runtime/actorrun.hpp>
#include <chrono>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>

using namespace actorrun;
using core::timed_worker;
using steady = std::chrono::steady_clock;

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: timer_notes PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  auto begun
    = std::map<std::pair<timed_worker, std::string>, steady::time_point>{};
  auto hooks = launcher_hooks{};
  hooks.timers.on_acquired
    = [&](const timed_worker& who, std::string_view scope, core::duration) {
        begun[{who, std::string{scope}}] = steady::now();
      };
  hooks.timers.on_released
    = [&](const timed_worker& who, std::string_view scope) {
        const auto i = begun.find({who, std::string{scope}});
        if (i == begun.end())
          return;
        const auto took = steady::now() - i->second;
        std::printf("worker %u: %s took %.1f ms\n", who.local_rank,
                    i->first.second.c_str(),
                    std::chrono::duration<double, std::milli>(took).count());
        begun.erase(i);
      };
  hooks.timers.on_overrun = [](const core::overrun& x) {
    std::printf("worker %u: %s is not over yet\n", x.who.local_rank,
                x.scope.c_str());
    return false; // It goes on.
  };

  caf::actor_system_config config;
  configure(config);
  caf::actor_system system{config};
  auto workers = agent_options{};
  workers.workers.command = {argv + 1, argv + argc};
  workers.workers.slot_count = 2;
  auto node = launcher::start(system, job_options{}, workers, hooks);
  if (!node) {
    std::fprintf(stderr, "timer_notes: %s\n", node.error().text.c_str());
    return 1;
  }
  return (*node)->wait().succeeded() ? 0 : 1;
}
