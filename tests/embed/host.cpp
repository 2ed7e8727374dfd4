// A small host program, built with the compiler alone: runs a job, follows it, steers
// it and ends it.
//
// usage: host PROGRAM [ARGUMENT…]

#include <caf/actor_system.hpp>
#include <caf/actor_system_config.hpp>

#include <actorrun/runtime/actorrun.hpp>
#include <chrono>
#include <future>
#include <iostream>
#include <memory>
#include <string>

using namespace std::chrono_literals;

namespace {

struct follower {
  static constexpr const char* name = "follower";

  follower(actorrun::job_observer_actor::pointer,
           std::shared_ptr<std::promise<uint32_t>> first)
    : first_(std::move(first)) {}

  actorrun::job_observer_actor::behavior_type make_behavior() {
    return {
      [this](const actorrun::generation_begun& x) {
        if (x.number() == 1)
          first_->set_value(x.plan.world_size);
      },
      [](const actorrun::generation_over&) {},
      [](const actorrun::job_over&) {},
    };
  }

  void on_exit() {}

  std::shared_ptr<std::promise<uint32_t>> first_;
};

/// One line, whole: the runtime logs from other threads.
void say(const std::string& line) {
  std::cout << line + "\n" << std::flush;
}

int fail(const actorrun::failure& why) {
  say(std::string{to_string(why.code)} + ": " + why.text);
  return 1;
}

} // namespace

int main(int argc, char** argv) {
  caf::actor_system_config config;
  actorrun::configure(config);
  caf::actor_system system{config};
  auto job = actorrun::job_options{};
  job.job = {"plain"};
  auto workers = actorrun::agent_options{};
  workers.workers.command = {argv + 1, argv + argc};
  workers.workers.slot_count = 2;
  auto first = std::make_shared<std::promise<uint32_t>>();
  auto size = first->get_future();
  auto hooks = actorrun::launcher_hooks{};
  hooks.lines = [](actorrun::log_level, std::string_view line) {
    say("log: " + std::string{line});
  };
  const auto observer
    = system
        .spawn<actorrun::actor_impl<actorrun::job_observer_actor, follower>>(
          first);
  auto node = actorrun::launcher::start(system, job, workers, hooks);
  if (!node)
    return fail(node.error());
  (*node)->observe(observer);
  say("generation 1 of " + std::to_string(size.get()) + " workers");

  const auto here = actorrun::find_local_job("plain", 5s);
  if (!here)
    return fail(here.error());
  const auto status = actorrun::status_of(*here);
  if (!status)
    return fail(status.error());
  if (status->generation != 1 || status->world_size != 2 || status->outcome)
    return 2;
  const auto drained = drain(*here, "no-such-node", 60s);
  if (drained || drained.error().code != actorrun::errc::bad_argument)
    return 3;
  say("drain refused: " + drained.error().text);
  const auto stopped = stop(*here, "the test is over");
  if (!stopped)
    return fail(stopped.error());
  say("stopped: " + *stopped);
  const auto ended = (*node)->wait();
  if (ended.succeeded() || !ended.result)
    return 4;
  say(ended.result->reason);
  anon_send_exit(observer, caf::exit_reason::user_shutdown);
  return 0;
}
