#include "actors/process_owner.hpp"
#include "tests/support/actor_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_process_host.hpp"

#include <csignal>
#include <optional>

namespace actorrun::test::process_owner_test {

namespace {

/// Two processes, 100 and 101, with a grace period of 30 s; an order to close
/// brings its own.
struct owner_fixture : actor_fixture {
  owner_fixture() {
    auto config = process_owner_config{};
    config.supervisor.workers.command = {"none"};
    config.supervisor.workers.slot_count = 2;
    config.supervisor.workers.stop_signal = SIGINT;
    config.supervisor.processes = host;
    config.plan.generation = {1};
    config.plan.own.slot_count = 2;
    config.on_ended = [this](group_ending x) {
      ++ending_count;
      ending = std::move(x);
    };
    uut = keep(spawn_process_owner(system, std::move(config)));
    run();
    CHECK(host->told() == "start 1");
    host->start_all(1, 100);
    run();
  }

  void close(int signal, std::chrono::milliseconds timeout) {
    tell_anonymously(uut, close_group{signal, timeout});
    run();
  }

  void exit(uint32_t rank, int code, int signal = 0) {
    host->exit(1, rank, code, signal);
    run();
  }

  std::shared_ptr<fake_process_host> host
    = std::make_shared<fake_process_host>();
  process_owner_actor uut;
  std::optional<group_ending> ending;
  uint32_t ending_count = 0;
};

} // namespace

TEST_CASE_METHOD(owner_fixture, "process_owner: all have succeeded",
                 "[runtime]") {
  exit(1, 0);
  CHECK_FALSE(ending);
  exit(0, 0);
  REQUIRE(ending);
  CHECK(ending->failures.empty());
  CHECK_FALSE(ending->was_closed);
  CHECK(host->told() == "release 1");
}

TEST_CASE_METHOD(owner_fixture, "process_owner: a failure stops the others",
                 "[runtime]") {
  exit(1, 3);
  CHECK(host->told() == "signal 1 2");
  CHECK_FALSE(ending);
  exit(0, 0, SIGINT);
  REQUIRE(ending);
  REQUIRE(ending->failures.size() == 1);
  CHECK(ending->failures[0].local_rank == 1);
  CHECK(ending->failures[0].code == 3);
  CHECK_FALSE(ending->was_closed);
}

TEST_CASE_METHOD(owner_fixture,
                 "process_owner: other failures are reported, too",
                 "[runtime]") {
  host->exit_all(1, 3);
  run();
  REQUIRE(ending);
  REQUIRE(ending->failures.size() == 2);
  CHECK(ending->failures[0].local_rank == 0);
  CHECK(ending->failures[1].local_rank == 1);
  CHECK(ending->unlisted_failure_count == 0);
}

TEST_CASE_METHOD(owner_fixture,
                 "process_owner: others get the grace period, then SIGKILL",
                 "[runtime]") {
  exit(1, 3);
  host->told();
  advance(30s - 1ms);
  CHECK(host->told().empty());
  advance(1ms);
  CHECK(host->told() == "signal 1 9");
}

TEST_CASE_METHOD(owner_fixture, "process_owner: closing is no failure",
                 "[runtime]") {
  close(SIGTERM, 5s);
  CHECK(host->told() == "signal 1 15");
  exit(0, 0, SIGTERM);
  exit(1, 7);
  REQUIRE(ending);
  CHECK(ending->failures.empty());
  CHECK(ending->was_closed);
}

TEST_CASE_METHOD(owner_fixture,
                 "process_owner: the timeout of a close may be longer than "
                 "the grace period",
                 "[runtime]") {
  close(SIGTERM, 40s);
  host->told();
  advance(40s - 1ms);
  CHECK(host->told().empty());
  advance(1ms);
  CHECK(host->told().starts_with("signal 1 9"));
}

TEST_CASE_METHOD(owner_fixture, "process_owner: a close cuts a stop short",
                 "[runtime]") {
  exit(1, 3);
  host->told();
  close(SIGTERM, 100ms);
  CHECK(host->told().empty()); // Already ordered.
  advance(100ms);
  CHECK(host->told() == "signal 1 9");
  exit(0, 0, SIGKILL);
  REQUIRE(ending);
  CHECK_FALSE(ending->was_closed); // It had failed by itself.
  CHECK(ending->failures.size() == 1);
}

TEST_CASE_METHOD(owner_fixture, "process_owner: a close with timeout 0 kills",
                 "[runtime]") {
  close(SIGTERM, 0s);
  CHECK(host->told().starts_with("signal 1 9"));
}

TEST_CASE_METHOD(owner_fixture,
                 "process_owner: a close that crosses the success is late",
                 "[runtime]") {
  host->exit_all(1, 0);
  tell_anonymously(uut, close_group{SIGTERM, 1s});
  run();
  REQUIRE(ending);
  CHECK_FALSE(ending->was_closed);
  CHECK(ending->failures.empty());
}

TEST_CASE_METHOD(owner_fixture, "process_owner: the end is reported once",
                 "[runtime]") {
  host->exit_all(1, 0);
  run();
  close(SIGTERM, 1s);
  advance(1s);
  CHECK(ending_count == 1);
  CHECK(host->told() == "release 1");
}

} // namespace actorrun::test::process_owner_test
