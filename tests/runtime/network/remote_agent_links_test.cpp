#include "actors/rendezvous_coordinator.hpp"
#include "runtime/network/remote_agent_links.hpp"
#include "runtime/system_config.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/network/listener_fixture.hpp"
#include "tests/support/catch.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <utility>

namespace actorrun::test::remote_agent_links_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

/// An agent's end of a link, which does nothing by itself.
struct agent_end {
  bool is_closed() const {
    return test_deadline::soon([this] { return has_ended.load(); });
  }

  template <class T>
  void say(T x) const {
    link_writer<v1::ToCoordinator>{outbox}.write(std::move(x));
  }

  reactor_handle link;
  std::shared_ptr<link_outbox> outbox;
  inbox<bool> begun;
  inbox<v1::ToAgent> told;
  std::atomic<bool> has_ended = false;
};

class agent_peer final : public link_peer {
public:
  explicit agent_peer(agent_end& to) : to_(to) {}

  void begin(const link_opening& x) override {
    to_.outbox = x.outbox;
    to_.begun.put(true);
  }

  result<bool> take(std::string_view content) override {
    auto x = v1::ToAgent{};
    if (auto ok = read_message(content, x); !ok)
      return ok.error();
    to_.told.put(std::move(x));
    return true;
  }

  std::string take_answers() override { return {}; }
  void end() override { to_.has_ended = true; }

private:
  agent_end& to_;
};

using agent_link = std::unique_ptr<agent_end>;

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

  agent_link link() {
    auto got = try_to_connect();
    REQUIRE(got);
    return link(std::move(*got));
  }

  agent_link link(connected x) {
    auto out = std::make_unique<agent_end>();
    out->link = carry(home, std::move(x.connection),
                      {.mine = link_side::client,
                       .peer = std::make_unique<agent_peer>(*out),
                       .key = x.key,
                       .on_encrypted = [this](const resumption_key& key) {
                         keys.put(key);
                         return true;
                       }});
    return out;
  }

  /// Whether the coordinator's side welcomes the agent on this link.
  bool is_served(agent_link& x) {
    const auto got = keys.take();
    if (!got)
      return false;
    last_key = got;
    const auto first = x->told.take();
    return first && first->has_welcome();
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

TEST_CASE_METHOD(
  fixture,
  "remote_agent_links: a new link of an agent is served at once, "
  "and ends the last",
  "[runtime]") {
  auto first = link();
  CHECK(is_served(first));
  auto second = link();
  CHECK(is_served(second));
  CHECK(first->is_closed());
  pass(1ms);
  CHECK_FALSE(second->has_ended);
}

TEST_CASE_METHOD(
  fixture,
  "remote_agent_links: the end of the coordinator's actor is the "
  "end of its links",
  "[runtime]") {
  auto first = link();
  CHECK(is_served(first));
  caf::anon_send_exit(coordinator, caf::exit_reason::user_shutdown);
  CHECK(first->is_closed());
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
  first->link.reset();
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
  CHECK_FALSE(first->has_ended);
}

TEST_CASE_METHOD(fixture,
                 "remote_agent_links: S2 the id of an agent whose link has "
                 "ended is still its own",
                 "[runtime]") {
  auto first = link();
  CHECK(is_served(first));
  const auto own = last_key;
  first->link.reset();
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
  CHECK(second->is_closed());
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
  auto thief = link(std::move(*early));
  REQUIRE(keys.take());
  CHECK(thief->is_closed());
  CHECK(thief->told.size() == 0);
  CHECK_FALSE(owner->has_ended);
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
  CHECK(applicant->is_closed());
}

TEST_CASE_METHOD(
  lenient_fixture,
  "remote_agent_links: S4 who floods the coordinator with requests "
  "for the status is cut",
  "[runtime]") {
  auto applicant = link();
  CHECK(is_served(applicant));
  auto join = v1::JoinRequest{};
  join.mutable_offer()->set_agent_id(an_agent().id);
  applicant->say(std::move(join));
  for (auto i = 0; i < 9; ++i)
    applicant->say(v1::StatusRequest{});
  CHECK(applicant->is_closed());
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
  CHECK_FALSE(member->has_ended);
}

TEST_CASE_METHOD(fixture,
                 "remote_agent_links: an operator cannot speak as an agent",
                 "[runtime]") {
  auto got = try_to_connect(purpose::operate);
  REQUIRE(got);
  auto own = link(std::move(*got));
  REQUIRE(own->begun.take());
  auto join = v1::JoinRequest{};
  join.mutable_offer()->set_agent_id(an_agent().id);
  own->say(std::move(join));
  // It takes that for a request of an operator.
  const auto answer = own->told.take();
  REQUIRE(answer);
  auto reply = v1::OperatorReply{};
  REQUIRE(reply.ParseFromString(answer->SerializeAsString()));
  CHECK(reply.status().phase() == "gathering");
  CHECK(reply.status().agents().empty());
}

} // namespace actorrun::test::remote_agent_links_test
