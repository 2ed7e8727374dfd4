// The agent's link to the coordinator: how it is found, lost, cut and found
// again, and what happens to the workers meanwhile.

#include "tests/actors/node_agent_fixture.hpp"

#include <csignal>

namespace actorrun::test::node_agent_link_test {

namespace {

/// The coordinator lives in the agent's own process.
struct one_process_fixture : node_agent_fixture {
  one_process_fixture() { is_remote = false; }
};

} // namespace

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: an attempt that fails is followed by another",
                 "[actors]") {
  locator->told();
  no_link(errc::connection_refused);
  CHECK(locator->told().empty());
  advance(1s);
  CHECK(locator->told() == "seek");
  link_up(coordinator);
  CHECK(coordinator.told() == "join a");
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: the first link gives the store its address",
                 "[actors]") {
  CHECK(ports->told().empty());
  link_up(coordinator);
  CHECK(ports->told() == std::vector<std::string>{"announce 10.0.0.7"});
  end(coordinator.handle);
  advance(200ms);
  replace_coordinator();
  link_up(coordinator);
  CHECK(ports->told().empty());
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: it gives up when no coordinator can be found",
                 "[actors]") {
  for (auto i = 0; i < 100 && endings->empty(); ++i) {
    no_link(errc::connection_refused);
    advance(1s);
  }
  REQUIRE(endings->size() == 1);
  CHECK(endings->front().why == failure{errc::connection_refused, "no luck"});
  CHECK(now() >= 60s);
  CHECK(now() < 62s);
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: it gives up at once when it is refused",
                 "[actors]") {
  no_link(errc::secret_mismatch);
  REQUIRE(endings->size() == 1);
  CHECK(endings->front().why->code == errc::secret_mismatch);
}

TEST_CASE_METHOD(
  node_agent_fixture,
  "node_agent: W1 a second way takes the place of a link that does "
  "not answer",
  "[actors]") {
  run_workers();
  locator->told();
  auto told = std::string{};
  for (auto i = 0; i < 20 && told.empty(); ++i) {
    advance(40ms);
    told = locator->told();
  }
  REQUIRE(told == "seek_second_way");
  SECTION("when it is found") {
    locator->find_second_way();
    run();
    CHECK(locator->told() == "drop");
    end(coordinator.handle);
    CHECK(locator->told() == "seek");
    replace_coordinator();
    link_up(coordinator);
    CHECK(coordinator.told().find("join a with 1 running")
          != std::string::npos);
  }
  SECTION("and not if the fence is first") {
    advance(1s);
    locator->told();
    locator->find_second_way();
    run();
    CHECK(locator->told().empty());
  }
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: a broken link is sought again, with a claim",
                 "[actors]") {
  run_workers();
  end(coordinator.handle);
  CHECK(locator->told().empty());
  advance(200ms);
  CHECK(locator->told() == "seek");
  replace_coordinator();
  link_up(coordinator);
  CHECK(coordinator.told() == "join a with 1 running, pids 100 101");
  CHECK(from_wire(coordinator.last_join().claim()).plan.world_size == 4);
  accept(300ms);
  CHECK(host->told().empty()); // The workers are not affected.
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: a claim contains the failure it could not report",
                 "[actors]") {
  run_workers();
  end(coordinator.handle);
  host->exit(1, 1, 7);
  run();
  advance(200ms);
  replace_coordinator();
  link_up(coordinator);
  CHECK(coordinator.told() == "join a with 1 failed, pids 100 101");
  const auto held = from_wire(coordinator.last_join().claim());
  REQUIRE(held.failure);
  CHECK(held.failure->global_rank == 3);
  CHECK(held.failure->code == 7);
  CHECK(held.failure->age == 200ms);
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: pids of an older generation are not claimed",
                 "[actors]") {
  run_workers();
  revoke(1);
  exit_all(1, 143);
  form(2);
  end(coordinator.handle);
  advance(200ms);
  replace_coordinator();
  link_up(coordinator);
  CHECK(coordinator.told() == "join a with 2 starting, pids");
}

// -- the lease ----------------------------------------------------------------

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: it keeps its lease by a keep-alive every 300 ms",
                 "[actors]") {
  join();
  advance(299ms);
  CHECK(coordinator.told().empty());
  advance(1ms);
  const auto alive = coordinator.told();
  REQUIRE(alive.starts_with("alive "));
  auto grant = v1::LeaseGranted{};
  grant.set_sent_ns(std::stoll(alive.substr(6)));
  say(grant);
  advance(300ms);
  const auto next = coordinator.told();
  CHECK(next.starts_with("alive "));
  CHECK(next != alive);
  advance(119ms);
  CHECK(coordinator.told().empty());
  advance(1ms);
  CHECK(coordinator.told() == next); // That one has no answer yet.
}

TEST_CASE_METHOD(
  node_agent_fixture,
  "node_agent: when its lease runs out, it kills its workers and "
  "cuts the link",
  "[actors]") {
  run_workers();
  advance(899ms);
  CHECK(host->told().empty());
  advance(1ms);
  CHECK(host->told() == "signal 1 9");
  CHECK(locator->told() == "seek_second_way; drop");
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: an answer moves the machine's fence too",
                 "[actors]") {
  run_workers();
  const auto before = host->fence();
  const auto joined = before - 900ms;
  advance(300ms);
  auto grant = v1::LeaseGranted{};
  grant.set_sent_ns((joined + 300ms).time_since_epoch().count());
  say(grant);
  CHECK(host->fence() == before + 300ms);
  grant.set_sent_ns(joined.time_since_epoch().count());
  say(grant); // An older answer does not shorten the lease.
  CHECK(host->fence() == before + 300ms);
  advance(899ms);
  CHECK(host->told().empty());
  advance(1ms);
  CHECK(host->told() == "signal 1 9");
}

TEST_CASE_METHOD(
  node_agent_fixture,
  "node_agent: an answer that moves a fence which has fired comes "
  "too late",
  "[actors]") {
  run_workers();
  const auto joined = host->fence() - 900ms;
  advance(899ms);
  host->fire_fence(); // As if the agent were stopped now.
  auto grant = v1::LeaseGranted{};
  grant.set_sent_ns((joined + 800ms).time_since_epoch().count());
  say(grant);
  CHECK(host->told() == "");
  advance(1ms);
  CHECK(host->told() == "signal 1 9");
  CHECK(locator->told() == "seek_second_way; drop");
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: an answer from before the machine slept does not "
                 "move the fence",
                 "[actors]") {
  run_workers();
  const auto before = host->fence();
  advance(300ms);
  *asleep = 10s;
  auto grant = v1::LeaseGranted{};
  grant.set_sent_ns((before - 600ms).time_since_epoch().count());
  say(grant);
  CHECK(host->fence() == before);
  advance(600ms);
  CHECK(host->told() == "signal 1 9");
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: after it slept the machine's fence is on the "
                 "machine's clock",
                 "[actors]") {
  *asleep = 10s;
  run_workers();
  const auto before = host->fence();
  advance(300ms);
  auto grant = v1::LeaseGranted{};
  grant.set_sent_ns((before + *asleep - 600ms).time_since_epoch().count());
  say(grant);
  CHECK(host->fence() == before + 300ms);
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: without a lease it needs no keep-alives",
                 "[actors]") {
  link_up(coordinator);
  accept();
  form(1);
  CHECK(host->fence() == core::time_point::max());
  host->start_all(1, 100);
  run();
  forget();
  advance(1h);
  CHECK(host->told().empty());
  CHECK(coordinator.told().empty());
}

// -- one link at a time -------------------------------------------------------

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: the next link is sought when the last is down",
                 "[actors]") {
  link_up(coordinator);
  locator->told();
  advance(5s); // The join is not answered.
  CHECK(locator->told() == "drop");
  advance(5s);
  CHECK(locator->told().empty()); // The handle is not down yet.
  end(coordinator.handle);
  CHECK(locator->told() == "seek");
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: a link that goes down early is not waited for",
                 "[actors]") {
  link_up(coordinator);
  locator->told();
  advance(5s);
  end(coordinator.handle); // Before the next attempt is due.
  CHECK(locator->told() == "drop");
  advance(1s);
  CHECK(locator->told() == "seek");
}

TEST_CASE_METHOD(node_agent_fixture,
                 "node_agent: messages after the cut are not sent",
                 "[actors]") {
  run_workers();
  advance(900ms);
  coordinator.told();
  exit_all(1, 0, SIGKILL);
  CHECK(coordinator.told().empty());
}

TEST_CASE_METHOD(one_process_fixture,
                 "node_agent: a coordinator of its own process has no link to "
                 "go down",
                 "[actors]") {
  link_up(coordinator);
  locator->told();
  advance(5s); // The join is not answered.
  CHECK(locator->told() == "drop");
  advance(1s);
  CHECK(locator->told() == "seek");
}

TEST_CASE_METHOD(
  node_agent_fixture,
  "agent: W8 without a coordinator it shows no workers that are gone",
  "[actors]") {
  run_workers();
  end(coordinator.handle);
  CHECK(status().agents(0).pids_size() == 2);
  advance(900ms); // The fence.
  exit_all(1, 0, SIGKILL);
  CHECK(status().agents(0).pids_size() == 0);
}

} // namespace actorrun::test::node_agent_link_test
