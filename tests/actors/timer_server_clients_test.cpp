#include "tests/actors/timer_server_fixture.hpp"

namespace actorrun::test::timer_server_clients_test {

namespace {

struct clients_fixture : timer_server_fixture {
  clients_fixture() {
    begin();
    client = make_client(inbox);
  }

  timer_client_actor make_client(recorder to) {
    return keep(system.spawn(
      [to](timer_client_actor::pointer) -> timer_client_actor::behavior_type {
        return {[to](const timer_overrun& x) {
          to.write(x.scope + " " + std::to_string(x.lateness.count()));
        }};
      }));
  }

  void acquire_for(const timer_client_actor& who, const std::string& scope,
                   core::duration after) {
    send(who, uut, acquire_timer{scope, after, who});
  }

  recorder inbox;
  timer_client_actor client;
};

} // namespace

TEST_CASE_METHOD(clients_fixture,
                 "timer_server: an actor of the program is notified of its "
                 "overrun",
                 "[actors]") {
  acquire_for(client, "step", 1s);
  advance(1s);
  CHECK(inbox.told() == "step 0");
  CHECK(said()
        == "warning timer server reports an actor of this program: timer "
           "\"step\" is overdue by 0.0 ms\n");
  CHECK(told() == "");
}

TEST_CASE_METHOD(clients_fixture,
                 "timer_server: an overrun ends all timers of an actor, "
                 "which may begin anew",
                 "[actors]") {
  acquire_for(client, "a", 1s);
  acquire_for(client, "b", 2s);
  advance(3s);
  CHECK(inbox.told() == "a 0");
  acquire_for(client, "b", 1s);
  advance(1s);
  CHECK(inbox.told() == "b 0");
}

TEST_CASE_METHOD(clients_fixture,
                 "timer_server: actors release and renew only their own "
                 "timers",
                 "[actors]") {
  auto other_inbox = recorder{};
  const auto other = make_client(other_inbox);
  acquire_for(client, "a", 1s);
  acquire_for(other, "a", 1s);
  send(client, uut, release_timer{"a"});
  advance(1s);
  CHECK(inbox.told() == "");
  CHECK(other_inbox.told() == "a 0");
  acquire_for(client, "a", 1s);
  acquire_for(client, "a", 3s);
  advance(2s);
  CHECK(inbox.told() == "");
  advance(1s);
  CHECK(inbox.told() == "a 0");
}

TEST_CASE_METHOD(clients_fixture,
                 "timer_server: the end of an actor ends its timers",
                 "[actors]") {
  acquire_for(client, "a", 1s);
  CHECK(figures().timer_count == 1);
  end(client);
  CHECK(figures().timer_count == 0);
  advance(2s);
  CHECK(said() == "");
}

TEST_CASE_METHOD(clients_fixture,
                 "timer_server: an overrun without a receiver is only "
                 "logged",
                 "[actors]") {
  send(client, uut, acquire_timer{"a", 1s, {}});
  advance(1s);
  CHECK(inbox.told() == "");
  CHECK(said().find("timer \"a\" is overdue") != std::string::npos);
}

TEST_CASE_METHOD(clients_fixture,
                 "timer_server: a request without a sender is ignored",
                 "[actors]") {
  tell_uut(acquire_timer{"a", 1s, client});
  tell_uut(release_timer{"a"});
  CHECK(figures().timer_count == 0);
}

TEST_CASE_METHOD(clients_fixture,
                 "timer_server: another actor may time a worker on its "
                 "behalf",
                 "[actors]") {
  start_worker(1, 0);
  tell_uut(acquire_worker_timer{{1}, 0, "a", 1s, SIGTERM});
  tell_uut(acquire_worker_timer{{1}, 0, "b", 500ms, SIGTERM});
  tell_uut(release_worker_timer{{1}, 0, "b"});
  advance(1s);
  CHECK(told() == R"(report_overrun 1/0 pid 100 "a" 0 ns late, signal 15)");
}

TEST_CASE_METHOD(clients_fixture,
                 "timer_server: it times neither unknown workers nor "
                 "actors by worker requests",
                 "[actors]") {
  start_worker(2, 0);
  acquire_for(client, "own", 1h);
  for (const auto generation : {uint64_t{0}, uint64_t{1}, uint64_t{3}})
    tell_uut(acquire_worker_timer{{generation}, 0, "a", 1s, SIGTERM});
  tell_uut(acquire_worker_timer{{0}, 1, "a", 1s, SIGTERM});
  tell_uut(acquire_worker_timer{{2}, 1, "a", 1s, SIGTERM});
  tell_uut(release_worker_timer{{0}, 1, "own"});
  CHECK(figures().timer_count == 1);
}

} // namespace actorrun::test::timer_server_clients_test
