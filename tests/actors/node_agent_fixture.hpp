// A node agent among fakes: the network finds a recorder as its coordinator,
// and a test decides what the machine does.
#pragma once

#include "actors/node_agent.hpp"
#include "tests/support/actor_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_locator.hpp"
#include "tests/support/fake_master_ports.hpp"
#include "tests/support/fake_process_host.hpp"
#include "tests/support/log_lines.hpp"
#include "tests/support/recorder.hpp"

#include <string>
#include <vector>

namespace actorrun::test {

/// The agent `a` with two slots; its coordinator lives in another process.
struct node_agent_fixture : actor_fixture {
  node_agent_fixture() {
    keep(coordinator.handle);
    auto config = plain_config();
    config.supervisor.host = "node-a";
    config.time_asleep = [x = asleep] { return *x; };
    config.lines = lines.writer(log_level::info);
    config.next_coordinator.endpoint = "n1:29400";
    config.on_finished = [out = endings](core::ending x) { out->push_back(x); };
    uut = keep(spawn_node_agent(system, config));
    run();
  }

  /// What every agent here has.
  node_agent_config plain_config() {
    auto out = node_agent_config{};
    out.offering.agent = {"a"};
    out.offering.host = "node-a";
    out.offering.slot_count = 2;
    out.offering.master_port = 29'500;
    out.settings = {1, 4, 3};
    out.supervisor.workers.command = {"train"};
    out.supervisor.workers.slot_count = 2;
    out.supervisor.job = {{"job-1"}, "default", 3};
    out.supervisor.processes = host;
    out.supervisor.ports = ports;
    out.locator = locator;
    out.on_finished = [](const core::ending&) {};
    return out;
  }

  // -- the link ---------------------------------------------------------------

  void link_up(const coordinator_recorder& to) {
    locator->answer(
      ports::location{caf::actor_cast<caf::strong_actor_ptr>(to.handle),
                      "10.0.0.7", 7'000, is_remote});
    run();
  }

  void no_link(errc why) {
    locator->answer(failure{why, "no luck"});
    run();
  }

  /// The coordinator accepts the agent.
  /// @param interval 0: without a lease.
  void accept(caf::timespan interval = caf::timespan{0}) {
    auto x = v1::JoinAccepted{};
    x.set_keep_alive_interval_ns(uint64_t(interval.count()));
    x.set_fence_ns(uint64_t(3 * interval.count()));
    say(x);
  }

  /// Joined over a link, with a lease: keep-alives every 300 ms, fence 900 ms.
  void join() {
    link_up(coordinator);
    accept(300ms);
    forget();
  }

  /// A new coordinator, as after a broken link: its handle is another one.
  void replace_coordinator() {
    coordinator = record_coordinator(system);
    keep(coordinator.handle);
  }

  // -- what the coordinator says ----------------------------------------------

  template <class T>
  void say(const T& x) {
    send(coordinator.handle, uut, x);
  }

  void form(uint64_t generation) {
    auto x = v1::GenerationFormed{};
    *x.mutable_plan()
      = to_wire(core::generation_plan{.generation = {generation},
                                      .own = {.agent = {"a"},
                                              .node_rank = 1,
                                              .slot_count = 2,
                                              .first_global_rank = 2,
                                              .first_role_rank = 2,
                                              .role_world_size = 4},
                                      .node_count = 2,
                                      .world_size = 4,
                                      .master_address = "10.0.0.1",
                                      .master_port = 29'600,
                                      .restart_count = 1});
    say(x);
  }

  void revoke(uint64_t generation, bool is_over = false) {
    auto x = v1::GenerationRevoked{};
    x.set_generation(generation);
    x.set_over(is_over);
    x.set_reason("agent b left");
    say(x);
  }

  void end_job() {
    auto x = v1::JobEnded{};
    x.mutable_outcome()->set_reason("all is well");
    say(x);
  }

  void leave(int signal) {
    tell_anonymously(uut, core::leave_requested{signal});
    run();
  }

  // -- where tests begin ------------------------------------------------------

  /// Its workers of generation 1 run: 100 and 101.
  void run_workers() {
    join();
    form(1);
    host->start_all(1, 100);
    run();
    forget();
  }

  void exit_all(uint64_t generation, int exit_code, int signal = 0) {
    host->exit_all(generation, exit_code, signal);
    run();
  }

  void forget() {
    coordinator.told();
    host->told();
    locator->told();
  }

  v1::JobStatus status() {
    const auto seen = ask_status(uut);
    REQUIRE(seen->has_value());
    return **seen;
  }

  coordinator_recorder coordinator = record_coordinator(system);
  bool is_remote = true; ///< The coordinator is in another process.
  std::shared_ptr<fake_locator> locator = std::make_shared<fake_locator>();
  std::shared_ptr<fake_master_ports> ports
    = std::make_shared<fake_master_ports>();
  /// For how long the machine was suspended.
  std::shared_ptr<core::duration> asleep = std::make_shared<core::duration>(0);
  std::shared_ptr<fake_process_host> host
    = std::make_shared<fake_process_host>();
  std::shared_ptr<std::vector<core::ending>> endings
    = std::make_shared<std::vector<core::ending>>();
  log_lines lines;
  node_agent_actor uut;
};

} // namespace actorrun::test
