// The timer server's interface: each message does what `timer_interface.hpp`
// says of it.
#include "tests/actors/timer_server_fixture.hpp"

namespace actorrun::test::timer_interface_test {

namespace {

/// An actor of the program, which knows the server by its interface only.
struct timer_interface_fixture : timer_server_fixture {
  timer_interface_fixture() {
    begin();
    client = keep(system.spawn([to = inbox](timer_client_actor::pointer)
                                 -> timer_client_actor::behavior_type {
      return {[to](const timer_overrun& x) {
        to.write(x.scope + " " + std::to_string(x.lateness.count()));
      }};
    }));
  }

  void acquire_own(const std::string& scope, core::duration after) {
    send(client, uut, acquire_timer{scope, after, client});
  }

  recorder inbox;
  timer_client_actor client;
};

} // namespace

TEST_CASE_METHOD(timer_interface_fixture,
                 "timer_interface: a server does not keep a listener alive",
                 "[actors]") {
  auto listener = system.spawn([](overrun_listener_actor::pointer)
                                 -> overrun_listener_actor::behavior_type {
    return {[](const worker_overrun&) {}};
  });
  const auto address = caf::actor_cast<caf::actor_addr>(listener);
  tell_uut(workers_timed{{1}, {{0, 100}}, listener});
  write(acquire(100, "a", 1s));
  REQUIRE(caf::actor_cast<caf::strong_actor_ptr>(address) != nullptr);
  listener = overrun_listener_actor{};
  run();
  CHECK(caf::actor_cast<caf::strong_actor_ptr>(address) == nullptr);
  advance(1s); // The overrun has no receiver any more.
  CHECK(said().find("timer \"a\" is overdue") != std::string::npos);
}

TEST_CASE_METHOD(timer_interface_fixture,
                 "timer_interface: workers of one message are all timed, and "
                 "all ended",
                 "[actors]") {
  tell_uut(workers_timed{{1}, {{0, 100}, {1, 101}, {2, 102}}, supervisor});
  for (const auto pid : {100, 101, 102})
    write(acquire(pid, "a", 1s));
  CHECK(figures().timer_count == 3);
  tell_uut(workers_untimed{{1}, {{0}, {2}}});
  CHECK(figures().timer_count == 1);
  advance(1s);
  CHECK(told() == R"(report_overrun 1/1 pid 101 "a" 0 ns late, signal 9)");
}

TEST_CASE_METHOD(timer_interface_fixture,
                 "timer_interface: workers of another generation do not end",
                 "[actors]") {
  start_worker(2, 0);
  write(acquire(200, "a", 1s));
  tell_uut(workers_untimed{{1}, {{0}}});
  CHECK(figures().timer_count == 1);
}

TEST_CASE_METHOD(timer_interface_fixture,
                 "timer_interface: a span begins when its message arrives",
                 "[actors]") {
  start_worker(1, 0);
  advance(10s);
  acquire_own("a", 2s);
  tell_uut(acquire_worker_timer{{1}, 0, "b", 2s});
  advance(2s - 1ns);
  CHECK(inbox.told() == "");
  CHECK(told() == "");
  advance(1ns);
  CHECK(inbox.told() == "a 0");
  CHECK(told() == R"(report_overrun 1/0 pid 100 "b" 0 ns late, signal 9)");
}

TEST_CASE_METHOD(timer_interface_fixture,
                 "timer_interface: a span of no time is over at once",
                 "[actors]") {
  acquire_own("a", 0s);
  CHECK(inbox.told() == "a 0");
  acquire_own("a", -1s);
  CHECK(inbox.told() == "a 1000000000");
}

TEST_CASE_METHOD(timer_interface_fixture,
                 "timer_interface: the longest span is never over",
                 "[actors]") {
  start_worker(1, 0);
  acquire_own("a", core::duration::max());
  tell_uut(acquire_worker_timer{{1}, 0, "b", core::duration::max()});
  advance(24h);
  CHECK(figures().timer_count == 2);
  CHECK(said() == "");
}

TEST_CASE_METHOD(timer_interface_fixture,
                 "timer_interface: without a signal a worker's overrun is only "
                 "logged",
                 "[actors]") {
  start_worker(1, 0);
  for (const auto signal : {0, -1}) {
    tell_uut(acquire_worker_timer{{1}, 0, "a", 1s, signal});
    advance(1s);
    CHECK(told() == "");
    CHECK(said().find("timer server records worker 0 of generation 1")
          != std::string::npos);
  }
}

TEST_CASE_METHOD(timer_interface_fixture,
                 "timer_interface: a release ends only the timer it names",
                 "[actors]") {
  start_worker(1, 0);
  acquire_own("a", 1s);
  acquire_own("b", 1s);
  send(client, uut, release_timer{"a"});
  send(client, uut, release_timer{"unknown"});
  tell_uut(acquire_worker_timer{{1}, 0, "a", 1s});
  tell_uut(acquire_worker_timer{{1}, 0, "b", 1s});
  tell_uut(release_worker_timer{{1}, 0, "a"});
  tell_uut(release_worker_timer{{1}, 0, "unknown"});
  CHECK(figures().timer_count == 2);
  advance(1s);
  CHECK(inbox.told() == "b 0");
  CHECK(told() == R"(report_overrun 1/0 pid 100 "b" 0 ns late, signal 9)");
}

TEST_CASE_METHOD(timer_interface_fixture,
                 "timer_interface: a name has a longest length", "[actors]") {
  start_worker(1, 0);
  const auto longest = std::string(core::scope_text_max, 'x');
  acquire_own(longest, 1h);
  tell_uut(acquire_worker_timer{{1}, 0, longest, 1h});
  CHECK(figures().timer_count == 2);
  CHECK(figures().requests.refused == 0);
  acquire_own(longest + "y", 1h);
  tell_uut(acquire_worker_timer{{1}, 0, longest + "y", 1h});
  CHECK(figures().timer_count == 2);
  CHECK(figures().requests.refused == 2);
}

TEST_CASE_METHOD(timer_interface_fixture,
                 "timer_interface: the figures count messages and lines",
                 "[actors]") {
  start_worker(1, 0);
  acquire_own("a", 1h);
  tell_uut(acquire_worker_timer{{1}, 0, "b", 1h});
  tell_uut(acquire_worker_timer{{1}, 7, "b", 1h});
  send(client, uut, release_timer{"a"});
  write(acquire(100, "c", 1h) + "no request\n");
  const auto x = figures();
  CHECK(x.timer_count == 2);
  CHECK(x.requests.acquired == 3);
  CHECK(x.requests.released == 1);
  CHECK(x.requests.unknown == 1);
  CHECK(x.lines.requests == 1);
  CHECK(x.lines.malformed == 1);
}

TEST_CASE_METHOD(timer_interface_fixture,
                 "timer_interface: other messages are dropped and harm nothing",
                 "[actors]") {
  acquire_own("a", 1s);
  const auto before = dropped_message_count.load();
  tell_anonymously(caf::actor_cast<caf::actor>(uut),
                   timer_overrun{"a", 1s}); // Of the interface of clients.
  run();
  CHECK(dropped_message_count == before + 1);
  advance(1s);
  CHECK(inbox.told() == "a 0");
}

} // namespace actorrun::test::timer_interface_test
