// Replaces actorrun's timer server: a job whose timers are only recorded, to
// measure how long steps take before timers kill workers.
//
// usage: timer_notes PROGRAM [ARGUMENT…]

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <actorrun/runtime/actorrun.hpp>
#include <array>
#include <csignal>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>

using namespace actorrun;

namespace {

// Notification that the FIFO can be read.
struct fifo_ready {};

} // namespace

ACTORRUN_BEGIN_LOCAL_TYPES(timers_server, caf::first_custom_type_id)
ACTORRUN_LOCAL_TYPE(timers_server, fifo_ready)
ACTORRUN_END_LOCAL_TYPES(timers_server)

namespace {

// A TIMER SERVER, and the state that it needs.
using notes_actor
  = timer_server_actor::extend<message_signature<void(fifo_ready)>::type>;

struct timer_notes {
  static constexpr const char* name = "timer-notes";

  timer_notes(notes_actor::pointer self_pointer, timer_server_config x)
    : self(self_pointer), config(std::move(x)) {}

  // Requests of workers come through the port; the rest are messages of the
  // supervisor and of actors of this program, which might have timers as well.
  notes_actor::behavior_type make_behavior() {
    wait();
    return {
      [this](const workers_timed& x) {
        // As they start: in one message or in several.
        const auto count = worker_counts[x.generation] += x.workers.size();
        std::printf("generation %llu has %zu workers\n",
                    static_cast<unsigned long long>(number_of(x.generation)),
                    count);
      },
      [](const workers_untimed&) {},
      [](const acquire_timer&) {},
      [](const release_timer&) {},
      [](const acquire_worker_timer&) {},
      [](const release_worker_timer&) {},
      [this](const timer_question&) {
        return timer_figures{begun.size(), {}, reader.counts()};
      },
      [this](const fifo_ready&) { read(); },
    };
  }

  // The port calls on a thread of its own, and must not keep the actor alive.
  void wait() {
    if (!config.source)
      return;
    config.source->call_when_ready(
      [address = caf::actor_cast<caf::actor_addr>(self)] {
        if (const auto to = caf::actor_cast<notes_actor>(address))
          tell_anonymously(to, fifo_ready{});
      });
  }

  void read() {
    const auto size = config.source->read(place);
    auto bytes = std::string_view{place.data(), size};
    auto request = core::timer_request{};
    while (reader.next(bytes, request))
      note(request);
    wait();
  }

  void note(const core::timer_request& x) {
    const auto key = std::pair{x.pid, x.scope};
    if (!x.is_release) {
      begun[key] = self->clock().now();
      return;
    }
    const auto i = begun.find(key);
    if (i == begun.end())
      return;
    const auto took = self->clock().now() - i->second;
    std::printf("%s took %.1f ms\n", x.scope.c_str(),
                std::chrono::duration<double, std::milli>(took).count());
    begun.erase(i);
  }

  void on_exit() { config = {}; }

  std::map<generation_id, size_t> worker_counts{};
  notes_actor::pointer self;
  timer_server_config config;
  core::timer_reader reader;
  std::array<char, 64 * 1024> place{};
  std::map<std::pair<int64_t, std::string>, core::time_point> begun;
};

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: timer_notes PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  caf::actor_system_config config;
  configure(config);
  ACTORRUN_REGISTER_LOCAL_TYPES(timers_server);
  caf::actor_system system{config};

  auto workers = agent_options{};
  workers.workers.command = {argv + 1, argv + argc};
  workers.workers.slot_count = 2;
  auto hooks = launcher_hooks{};
  hooks.timer_server = [](caf::actor_system& sys, timer_server_config x) {
    return timer_server_actor{
      sys.spawn<actor_impl<notes_actor, timer_notes>>(std::move(x))};
  };
  auto node = launcher::start(system, job_options{}, workers, hooks);
  if (!node) {
    std::fprintf(stderr, "timer_notes: %s\n", node.error().text.c_str());
    return 1;
  }
  return (*node)->wait().succeeded() ? 0 : 1;
}
