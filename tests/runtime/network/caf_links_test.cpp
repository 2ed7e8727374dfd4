// CAF over links that it did not make: two actor systems and pipes between them.

#include "runtime/network/late_network.hpp"
#include "tests/runtime/network/caf_links_fixture.hpp"

#include <caf/actor_registry.hpp>
#include <caf/io/basp_broker.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/multiplexer.hpp>

#include <future>
#include <string>
#include <utility>

using namespace actorrun;
using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

/// The actors with which CAF asks other systems for a server that starts actors.
size_t spawn_server_count(caf::actor_system& system) {
#if ACTORRUN_CAF_1
  const auto name = std::string{"BASP"};
#else
  const auto name = caf::atom("BASP");
#endif
  const auto broker
    = network_of(system).named_broker<caf::io::basp_broker>(name);
  auto found = std::promise<size_t>{};
  network_of(system).backend().post([&] {
    auto* self = dynamic_cast<caf::io::basp_broker*>(
      caf::actor_cast<caf::abstract_actor*>(broker));
    found.set_value(self == nullptr ? 1'000 : self->spawn_servers.size());
  });
  return found.get_future().get();
}

} // namespace

TEST_CASE_METHOD(caf_links_fixture,
                 "caf_links: CAF keeps no actor for a system that it has met",
                 "[runtime]") {
  const auto there = connect();
  join(there);
  CHECK(told.take() == "accepted, fence 180000000000");
  CHECK(spawn_server_count(server.system) == 0);
  CHECK(spawn_server_count(client.system) == 0);
}

TEST_CASE_METHOD(caf_links_fixture,
                 "caf_links: an agent's messages reach the coordinator, and "
                 "its answers the agent",
                 "[runtime]") {
  const auto there = connect();
  CHECK(there->node() == server.system.node());
  CHECK(there->node() != client.system.node());
  join(there);
  // A fence: the coordinator knows that the agent lives elsewhere.
  CHECK(told.take() == "accepted, fence 180000000000");
  CHECK(told.take() == "formed 1");
}

TEST_CASE_METHOD(caf_links_fixture,
                 "caf_links: when a connection ends, both sides are notified",
                 "[runtime]") {
  const auto there = connect();
  tell_anonymously(agent, there);
  CHECK(told.take() == "monitors");
  join(there);
  CHECK(told.take() == "accepted, fence 180000000000");
  CHECK(told.take() == "formed 1");
  between->cut();
  CHECK(told.take() == "down");
  CHECK(links->calls.take() == "released a");
}

TEST_CASE_METHOD(caf_links_fixture,
                 "caf_links: a new connection works after the last one ended",
                 "[runtime]") {
  auto there = connect();
  join(there);
  CHECK(told.take() == "accepted, fence 180000000000");
  CHECK(told.take() == "formed 1");
  between->cut();
  CHECK(links->calls.take() == "released a");
  there = connect();
  join(there);
  CHECK(told.take() == "accepted, fence 180000000000");
  CHECK(told.take() == "formed 1"); // The plan again: no claim came with it.
}

TEST_CASE_METHOD(caf_links_fixture,
                 "caf_links: a peer cannot end an actor, nor make it print",
                 "[runtime]") {
  const auto there = connect();
  const auto target = caf::actor_cast<caf::actor>(there);
  const auto address = caf::actor_cast<caf::actor_addr>(agent);
  const auto kill = caf::exit_msg{address, caf::exit_reason::kill};
  const auto shutdown = caf::exit_msg{address, caf::exit_reason::user_shutdown};
  const auto before = dropped_message_count.load();
  SECTION("with a sender") {
    actorrun::test::tell_as(agent, target, kill);
    actorrun::test::tell_as(agent, target, shutdown);
    actorrun::test::tell_as(agent, target,
                            caf::make_error(caf::sec::runtime_error));
    actorrun::test::tell_as(agent, target, 7);
  }
  SECTION("without one") {
    tell_anonymously(target, kill);
    tell_anonymously(target, shutdown);
    tell_anonymously(target, caf::make_error(caf::sec::runtime_error));
    tell_anonymously(target, 7);
  }
  join(there);
  CHECK(told.take() == "accepted, fence 180000000000");
  CHECK(dropped_message_count == before + 4);
}

TEST_CASE_METHOD(caf_links_fixture,
                 "caf_links: its own process can end an actor", "[runtime]") {
  const auto there = connect();
  tell_anonymously(agent, there);
  CHECK(told.take() == "monitors");
  caf::anon_send_exit(coordinator, caf::exit_reason::user_shutdown);
  CHECK(told.take() == "down");
}

TEST_CASE_METHOD(caf_links_fixture,
                 "caf_links: silence of the other side is a timeout",
                 "[runtime]") {
  auto [ours, theirs] = pipe_end::open();
  const auto got = attach_to(std::move(theirs), std::chrono::milliseconds{50});
  REQUIRE_FALSE(*got);
  CHECK(got->error().code == errc::connection_timed_out);
}

TEST_CASE_METHOD(
  caf_links_fixture,
  "caf_links: a peer that closes before its first byte is no actorrun",
  "[runtime]") {
  auto [ours, theirs] = pipe_end::open();
  ours.close();
  const auto got = attach_to(std::move(theirs));
  REQUIRE_FALSE(*got);
  CHECK(got->error().code == errc::not_actorrun);
}

TEST_CASE_METHOD(caf_links_fixture,
                 "caf_links: a peer with another protocol is no actorrun",
                 "[runtime]") {
  auto [ours, theirs] = pipe_end::open();
  ours.write(std::string(64, 'x'));
  const auto got = attach_to(std::move(theirs));
  REQUIRE_FALSE(*got);
  CHECK(got->error().code == errc::not_actorrun);
}
