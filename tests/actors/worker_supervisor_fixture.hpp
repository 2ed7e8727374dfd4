// A worker supervisor among fakes: a test decides what the machine, the disk
// and the console do.
#pragma once

#include "actors/worker_supervisor.hpp"
#include "tests/support/actor_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_failure_evidence.hpp"
#include "tests/support/fake_log_layout.hpp"
#include "tests/support/fake_log_tailer.hpp"
#include "tests/support/fake_master_ports.hpp"
#include "tests/support/fake_process_host.hpp"
#include "tests/support/recorder.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace actorrun::test {

/// Two slots, a grace period of 30 s; no logs. A test starts the actor.
struct supervisor_setting : actor_fixture {
  supervisor_setting() { keep(agent.handle); }

  worker_supervisor_config config() const {
    auto out = worker_supervisor_config{};
    out.workers.command = {"train", "--device=${local_rank}"};
    out.workers.slot_count = 2;
    out.job = {{"job-1"}, "trainer", 3};
    out.environment = {"HOME=/home/u", "RANK=77"};
    out.host = "node-a";
    out.processes = host;
    out.ports = std::make_shared<fake_master_ports>();
    return out;
  }

  void begin(worker_supervisor_config with) {
    uut = keep(spawn_worker_supervisor(system, std::move(with), agent.handle));
  }

  static core::generation_plan plan(uint64_t generation) {
    return {.generation = {generation},
            .own = {.agent = {"a"},
                    .node_rank = 1,
                    .slot_count = 2,
                    .first_global_rank = 4,
                    .first_role_rank = 4,
                    .role_world_size = 6},
            .node_count = 2,
            .world_size = 6,
            .master_address = "10.0.0.1",
            .master_port = 29'500,
            .restart_count = 1};
  }

  void order(group_order x) { send(agent.handle, uut, std::move(x)); }

  void report(uint64_t generation, std::vector<ports::process_event> events) {
    host->report(generation, std::move(events));
    run();
  }

  /// Workers 100 and 101 run.
  void start(uint64_t generation) {
    order(fenced_start{plan(generation), {}});
    host->start_all(generation, 100);
    run();
    host->told();
    agent.told();
  }

  agent_recorder agent = record_agent(system);
  std::shared_ptr<fake_process_host> host
    = std::make_shared<fake_process_host>();
  worker_supervisor_actor uut;
};

struct supervisor_fixture : supervisor_setting {
  supervisor_fixture() { begin(config()); }
};

} // namespace actorrun::test
