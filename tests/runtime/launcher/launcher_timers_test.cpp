// Timers of a launcher's workers and of the program that embeds it.
#include "runtime/launcher.hpp"
#include "runtime/system_config.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/support/catch.hpp"

#include <caf/actor_system.hpp>
#include <caf/scoped_actor.hpp>

#include <atomic>
#include <csignal>

namespace actorrun::test::launcher_timers_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test_deadline;
using namespace std::chrono_literals;

namespace {

struct fixture {
  void start(const std::string& script) {
    agent.workers.command = {"/bin/sh", "-c", script};
    agent.logs.folder = "/dev/null";
    auto started = launcher::start(system, job, agent, hooks);
    INFO((started ? "" : started.error().text));
    REQUIRE(started);
    uut = std::move(*started);
  }

  core::worker_failure first_failure() {
    const auto how = uut->wait();
    REQUIRE(how.result);
    REQUIRE(how.result->first_failure);
    return *how.result->first_failure;
  }

  system_config config;
  caf::actor_system system{config};
  job_options job;
  agent_options agent;
  launcher_hooks hooks;
  std::unique_ptr<launcher> uut;
};

/// A server that finds every worker overdue as soon as it runs.
timer_server_actor spawn_impatient_server(caf::actor_system& system) {
  return system.spawn([]() -> timer_server_actor::behavior_type {
    return {
      [](const workers_timed& x) {
        auto report = worker_overrun{};
        report.what.who = {x.generation, x.workers.at(0).local_rank};
        report.what.pid = x.workers.at(0).pid;
        report.what.scope = "reply";
        report.what.signal = SIGINT;
        tell_anonymously(x.listener, std::move(report));
      },
      [](const workers_untimed&) {},
      [](const acquire_timer&) {},
      [](const release_timer&) {},
      [](const acquire_worker_timer&) {},
      [](const release_worker_timer&) {},
      [](const timer_question&) { return timer_figures{}; },
    };
  });
}

} // namespace

TEST_CASE_METHOD(fixture, "launcher timers: an overdue worker fails the job",
                 "[runtime]") {
  start("printf '{\"pid\": %d, \"scope_id\": \"step\", "
        "\"expiration_time\": 1.5, \"signal\": 15}\\n' $$$$ "
        ">$TORCHELASTIC_TIMER_FILE; exec sleep 60");
  const auto x = first_failure();
  CHECK(x.kind == core::failure_kind::timer_expired);
  CHECK(x.code == SIGTERM);
  CHECK(x.details.scope == "step");
  CHECK(x.details.lateness > 24h); // It expired in 1970.
  CHECK(x.details.limit == std::nullopt);
}

TEST_CASE_METHOD(fixture,
                 "launcher timers: another server replaces the launcher's own",
                 "[runtime]") {
  auto call_count = 0;
  auto had_source = false;
  hooks.timer_server = [&](caf::actor_system& sys, timer_server_config x) {
    ++call_count;
    had_source = x.source != nullptr;
    return spawn_impatient_server(sys);
  };
  start("exec sleep 60");
  const auto x = first_failure();
  CHECK(call_count == 1);
  CHECK(had_source);
  CHECK(x.kind == core::failure_kind::timer_expired);
  CHECK(x.code == SIGINT);
  CHECK(x.details.scope == "reply");
}

TEST_CASE_METHOD(fixture,
                 "launcher timers: the embedding program has timers, "
                 "too",
                 "[runtime]") {
  start("exec sleep 60");
  auto overruns = std::atomic<int>{0};
  const auto client = system.spawn(
    [&](timer_client_actor::pointer self) -> timer_client_actor::behavior_type {
      tell(self, uut->timers(), acquire_timer{"own", 10ms, {self}});
      return {[&](const timer_overrun& x) { overruns += x.scope == "own"; }};
    });
  CHECK(soon([&] { return overruns == 1; }));
  caf::anon_send_exit(client, caf::exit_reason::kill);
  uut->leave(SIGTERM);
  uut->wait();
}

TEST_CASE_METHOD(fixture, "launcher timers: timers can be turned off",
                 "[runtime]") {
  agent.timers.enabled = false;
  start("test -z \"$TORCHELASTIC_TIMER_FILE\"");
  CHECK_FALSE(uut->timers());
  const auto how = uut->wait();
  REQUIRE(how.result);
  CHECK(how.result->kind == core::outcome::verdict::succeeded);
}

TEST_CASE_METHOD(fixture,
                 "launcher timers: U9 workers get a FIFO also if the path is "
                 "impossible",
                 "[runtime]") {
  agent.timers.path = "/proc/none/timers";
  start("test -p \"$TORCHELASTIC_TIMER_FILE\"");
  const auto how = uut->wait();
  REQUIRE(how.result);
  CHECK(how.result->kind == core::outcome::verdict::succeeded);
}

TEST_CASE_METHOD(fixture, "launcher: P13 an observer that is none is refused",
                 "[runtime]") {
  agent.workers.command = {"/bin/true"};
  agent.logs.folder = "/dev/null";
  hooks.observers.emplace_back();
  const auto started = launcher::start(system, job, agent, hooks);
  REQUIRE_FALSE(started);
  CHECK(started.error().code == errc::bad_argument);
}

} // namespace actorrun::test::launcher_timers_test
