// A node ends when one of its actors ends unexpectedly.
#include "runtime/launcher.hpp"
#include "runtime/system_config.hpp"
#include "tests/runtime/processes/process_host_fixture.hpp"
#include "tests/support/catch.hpp"

#include <caf/actor_system.hpp>
#include <caf/exit_reason.hpp>
#include <caf/send.hpp>

#include <fstream>

namespace actorrun::test::actor_death_test {

using namespace actorrun::detail::process_host_test;

namespace {

struct fixture {
  fixture() {
    agent.logs.folder = "/dev/null";
    agent.workers.command
      = {"/bin/sh", "-c", "echo $$$$ >" + file + "; exec sleep 60"};
    auto started = launcher::start(system, job, agent, {});
    REQUIRE(started);
    uut = std::move(*started);
    REQUIRE(soon([&] {
      auto in = std::ifstream{file};
      return static_cast<bool>(in >> worker);
    }));
  }

  ~fixture() { std::remove(file.c_str()); }

  /// The node ends and says why, and its worker is killed.
  void check_end(const char* which) {
    const auto how = uut->wait();
    REQUIRE(how.why);
    CHECK(how.why->code == errc::system_failure);
    CHECK(how.why->text.starts_with(std::string{"the "} + which
                                    + " of this node has failed"));
    uut.reset();
    // A machine that is out of breath may take longer than the node waits.
    CHECK(soon([&] { return !runs(worker); }));
  }

  std::string file = "/tmp/actor_death." + std::to_string(::getpid());
  system_config config;
  caf::actor_system system{config};
  job_options job;
  agent_options agent;
  std::unique_ptr<launcher> uut;
  pid_t worker = 0;
};

} // namespace

TEST_CASE_METHOD(fixture, "launcher: the agent's death ends the node",
                 "[runtime]") {
  caf::anon_send_exit(uut->agent(), caf::exit_reason::kill);
  check_end("agent");
}

TEST_CASE_METHOD(fixture, "launcher: the coordinator's death ends the node",
                 "[runtime]") {
  caf::anon_send_exit(uut->coordinator(), caf::exit_reason::kill);
  check_end("coordinator");
}

} // namespace actorrun::test::actor_death_test
