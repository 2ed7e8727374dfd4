#include "actors/rendezvous_coordinator.hpp"
#include "runtime/network/caf_links.hpp"
#include "runtime/network/remote_agent_links.hpp"
#include "runtime/system_config.hpp"
#include "tests/runtime/network/frame_writer.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/runtime/network/pipe_reader.hpp"
#include "tests/support/catch.hpp"

#include <string>

using namespace actorrun;
using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

/// A coordinator that listens, and an agent that goes no further than encryption.
struct fixture {
  explicit fixture(std::shared_ptr<shared_lease_desk> leases = nullptr,
                   core::duration accept_limit = join_limit)
    : desk(std::move(leases)),
      uut(system, home, {}, desk, 1, {}, accept_limit) {
    system.await_actors_before_shutdown(false);
    auto setup = rendezvous_coordinator_config{};
    setup.settings = {1, 1, 0};
    coordinator = spawn_rendezvous_coordinator(system, setup);
    const auto where
      = uut.listen(loopback(0), an_agent().mine,
                   [this](int, const nonce_bytes&) { return coordinator; });
    REQUIRE(where);
    port
      = static_cast<uint16_t>(std::stoi(where->substr(where->rfind(':') + 1)));
  }

  ~fixture() {
    uut.close();
    caf::anon_send_exit(coordinator, caf::exit_reason::kill);
  }

  /// A connection that knows the last link of the agent, if there was one.
  result<connected> try_to_connect(purpose intent = purpose::join) {
    auto done = inbox<std::shared_ptr<result<connected>>>{};
    auto who = an_agent();
    who.intent = intent;
    who.last_link = last_key;
    const auto attempt = connect(
      home, {"127.0.0.1", port}, who, timeout, [&](result<connected> x) {
        done.put(std::make_shared<result<connected>>(std::move(x)));
      });
    const auto got = done.take();
    REQUIRE(got);
    return std::move(**got);
  }

  open_link link() {
    auto got = try_to_connect();
    REQUIRE(got);
    auto another = node_name(system);
    another.back() ^= 1;
    auto out = carry(
      home, std::move(got->connection),
      {.ends = {link_side::client, an_agent().id, another, 0},
       .key = got->key,
       .on_encrypted = [this](const resumption_key& x) { keys.put(x); }});
    return out;
  }

  /// Whether the coordinator's CAF greets on this connection.
  bool is_served(open_link& x) {
    const auto got = keys.take();
    if (!got)
      return false;
    last_key = got;
    return !await_bytes(x.for_caf).empty();
  }

  /// Returns when timers that are due in `delay` have run.
  void pass(std::chrono::milliseconds delay) {
    auto passed = inbox<bool>{};
    home.post([&] { home.after(delay, [&] { passed.put(true); }); });
    REQUIRE(passed.take());
  }

  inbox<resumption_key> keys;
  std::optional<resumption_key> last_key; ///< Of the last link.
  system_config config;
  caf::actor_system system{config};
  reactor home;
  std::shared_ptr<shared_lease_desk> desk;
  remote_agent_links uut;
  rendezvous_coordinator_actor coordinator;
  uint16_t port = 0;
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "remote_agent_links: a new link of an agent ends the last, "
                 "and is served when that is released",
                 "[runtime]") {
  auto first = link();
  CHECK(is_served(first));
  auto second = link();
  CHECK(is_closed(first.for_caf));
  uut.released({an_agent().id});
  CHECK(is_served(second));
}

TEST_CASE_METHOD(fixture,
                 "remote_agent_links: a link whose release is never reported "
                 "does not hold up the next for ever",
                 "[runtime]") {
  auto first = link();
  CHECK(is_served(first));
  auto second = link();
  CHECK(is_served(second));
}

TEST_CASE_METHOD(fixture,
                 "remote_agent_links: a release that comes late does not end "
                 "the next link",
                 "[runtime]") {
  auto first = link();
  CHECK(is_served(first));
  auto second = link();
  CHECK(is_served(second)); // Without a release.
  uut.released({an_agent().id});
  pass(std::chrono::milliseconds{1});
  CHECK_FALSE(second.for_caf.is_over());
  // The next release is this link's own.
  uut.released({an_agent().id});
  CHECK(is_closed(second.for_caf));
}

TEST_CASE_METHOD(fixture,
                 "remote_agent_links: a link that was served on a release "
                 "outlives the time after which it would have been",
                 "[runtime]") {
  auto first = link();
  CHECK(is_served(first));
  auto second = link();
  uut.released({an_agent().id});
  CHECK(is_served(second));
  pass(2 * release_limit);
  CHECK_FALSE(second.for_caf.is_over());
}

TEST_CASE_METHOD(
  fixture,
  "remote_agent_links: an agent's machine is asked where its link "
  "came from, also when that has ended",
  "[runtime]") {
  const auto machine = open_listening(loopback(0));
  REQUIRE(machine);
  auto first = link();
  CHECK(is_served(first));
  first.link.reset();
  uut.released({an_agent().id});
  const auto asked_at = port_of(*local_address_of(machine->get()));
  uut.probe({"another"}, asked_at, [] {});
  CHECK_FALSE(is_ready(machine->get(), POLLIN, 20ms));
  uut.probe({an_agent().id}, asked_at, [] {});
  CHECK(is_ready(machine->get(), POLLIN));
}

TEST_CASE_METHOD(fixture,
                 "remote_agent_links: the id of a connected agent cannot be "
                 "claimed by another process",
                 "[runtime]") {
  auto first = link();
  CHECK(is_served(first));
  last_key.reset();
  const auto second = try_to_connect();
  REQUIRE_FALSE(second);
  CHECK(second.error().code == errc::connection_failed);
  CHECK(second.error().text.find("another agent") != std::string::npos);
  CHECK_FALSE(first.for_caf.is_over());
}

TEST_CASE_METHOD(fixture,
                 "remote_agent_links: S2 the id of an agent whose link has "
                 "ended is still its own",
                 "[runtime]") {
  auto first = link();
  CHECK(is_served(first));
  const auto own = last_key;
  first.link.reset();
  uut.released({an_agent().id});
  pass(1ms);
  last_key.reset();
  const auto thief = try_to_connect();
  REQUIRE_FALSE(thief);
  CHECK(thief.error().text.find("another agent") != std::string::npos);
  last_key = own;
  auto second = link();
  CHECK(is_served(second));
  // Also when the coordinator has forgotten it.
  uut.sever({an_agent().id});
  uut.released({an_agent().id});
  CHECK(is_closed(second.for_caf));
  const auto newer = last_key;
  last_key = own;
  CHECK_FALSE(try_to_connect());
  last_key = newer;
  CHECK(try_to_connect());
}

TEST_CASE_METHOD(fixture,
                 "remote_agent_links: S2 an id that has got an owner is not "
                 "taken by a handshake from before",
                 "[runtime]") {
  auto early = try_to_connect();
  REQUIRE(early);
  auto owner = link();
  CHECK(is_served(owner));
  auto another = node_name(system);
  another.back() ^= 2;
  auto thief
    = carry(home, std::move(early->connection),
            {.ends = {link_side::client, an_agent().id, another, 0},
             .key = early->key,
             .on_encrypted = [this](const resumption_key& x) { keys.put(x); }});
  REQUIRE(keys.take());
  CHECK(is_closed(thief.for_caf));
  CHECK_FALSE(owner.for_caf.is_over());
}

namespace {

struct strict_fixture : fixture {
  explicit strict_fixture(core::duration accept_limit = 50ms)
    : fixture(std::make_shared<shared_lease_desk>(), accept_limit) {}
};

/// Cuts no link that waits.
struct lenient_fixture : strict_fixture {
  lenient_fixture() : strict_fixture(1h) {}
};

} // namespace

TEST_CASE_METHOD(strict_fixture,
                 "remote_agent_links: S5 a link that never joins is cut",
                 "[runtime]") {
  auto applicant = link();
  CHECK(is_served(applicant));
  CHECK(is_closed(applicant.for_caf));
}

TEST_CASE_METHOD(
  lenient_fixture,
  "remote_agent_links: S4 who floods the coordinator with requests "
  "for the status is cut",
  "[runtime]") {
  auto applicant = link();
  CHECK(is_served(applicant));
  auto another = node_name(system);
  another.back() ^= 1;
  const auto message = [&](const std::string& type, const std::string& bytes) {
    return write_frame({.operation_data = 0x1000'0000'0000'0001,
                        .source = 9,
                        .destination = coordinator.id(),
                        .content = content_of("actorrun::v1::" + type, bytes)});
  };
  auto join = v1::JoinRequest{};
  join.mutable_offer()->set_agent_id(an_agent().id);
  auto all
    = write_frame({.kind = frame_kind::client_handshake, .content = another})
      + message("JoinRequest", join.SerializeAsString());
  for (auto i = 0; i < 9; ++i)
    all += message("StatusRequest", {});
  applicant.for_caf.write(frame_dialect{}.from_wire(all));
  CHECK(is_closed(applicant.for_caf));
}

TEST_CASE_METHOD(
  strict_fixture,
  "remote_agent_links: S5 the link of an agent that was accepted "
  "stays",
  "[runtime]") {
  desk->hold()->open({an_agent().id}, {});
  auto member = link();
  CHECK(is_served(member));
  pass(200ms);
  CHECK_FALSE(member.for_caf.is_over());
}

TEST_CASE_METHOD(fixture,
                 "remote_agent_links: an operator's link never reaches CAF",
                 "[runtime]") {
  auto got = try_to_connect(purpose::operate);
  REQUIRE(got);
  // What an agent would say: CAF would greet, too.
  auto another = node_name(system);
  another.back() ^= 1;
  auto link
    = carry(home, std::move(got->connection),
            {.ends = {link_side::client, an_agent().id, another, 0},
             .key = got->key,
             .on_encrypted = [this](const resumption_key& x) { keys.put(x); }});
  REQUIRE(keys.take());
  const auto greeting
    = write_frame({.kind = frame_kind::client_handshake, .content = another});
  link.for_caf.write(frame_dialect{}.from_wire(greeting));
  CHECK(await_bytes(link.for_caf).empty());
  CHECK(link.for_caf.is_over());
}
