// Timers of actors, like torch's LocalTimer pair for the processes of one
// program: a timer server without a FIFO, which receives messages.
//
// An actor loads shards, each within half a second. One never arrives: the
// actor is notified and goes on with the next.
//
// usage: timed_actor

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>
#include <caf/exit_reason.hpp>
#include <caf/scoped_actor.hpp>

#include <actorrun/runtime/actorrun.hpp>
#include <chrono>
#include <cstdio>
#include <string>

using namespace actorrun;
using namespace std::chrono_literals;

// A shard has arrived. It stays in this program, like the messages of timers.
struct shard_loaded {
  int number = 0;
};
ACTORRUN_BEGIN_LOCAL_TYPES(timers_actor, caf::first_custom_type_id)
ACTORRUN_LOCAL_TYPE(timers_actor, shard_loaded)
ACTORRUN_END_LOCAL_TYPES(timers_actor)

// A TIMER CLIENT, which is notified when a timer of its own has expired, with
// an additional message.
using loader_actor
  = timer_client_actor::extend<message_signature<void(shard_loaded)>::type>;

struct loader {
  static constexpr const char* name = "loader";
  static constexpr int shard_count = 4;
  static constexpr int lost_shard = 2;

  loader(loader_actor::pointer self_pointer, timer_server_actor server)
    : self(self_pointer), timers(std::move(server)) {}

  loader_actor::behavior_type make_behavior() {
    load(1);
    return {
      [this](const timer_overrun& x) {
        // All timers of this actor have ended by now; a new one may begin.
        std::printf(
          "%s is overdue by %.1f ms\n", x.scope.c_str(),
          std::chrono::duration<double, std::milli>(x.lateness).count());
        load(current + 1);
      },
      [this](const shard_loaded& x) {
        tell(self, timers, release_timer{scope()});
        std::printf("shard %d is there\n", x.number);
        load(x.number + 1);
      },
    };
  }

  void load(int number) {
    current = number;
    if (number > shard_count)
      return self->quit();
    tell(self, timers, acquire_timer{scope(), 500ms, loader_actor{self}});
    if (number != lost_shard) // It arrives.
      tell_later(self, 10ms, shard_loaded{number});
  }

  std::string scope() const { return "shard " + std::to_string(current); }

  void on_exit() { timers = nullptr; }

  loader_actor::pointer self;
  timer_server_actor timers;
  int current = 0;
};

int main() {
  caf::actor_system_config config;
  configure(config);
  ACTORRUN_REGISTER_LOCAL_TYPES(timers_actor);
  caf::actor_system system{config};
  const auto timers = spawn_timer_server(system, {});
  const auto who = system.spawn<actor_impl<loader_actor, loader>>(timers);
  caf::scoped_actor self{system};
  self->wait_for(who);
  self->send_exit(timers, caf::exit_reason::kill);
}
