// A coordinator and an agent that know each other as link actors: what each is told,
// and how it ends.

#include "messages/version.hpp"
#include "runtime/network/link_outbox.hpp"
#include "tests/runtime/deadline.hpp"
#include "tests/runtime/network/remote_links_fixture.hpp"
#include "tests/support/log_lines.hpp"

#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace actorrun::test::remote_links_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

// -- the outbox -----------------------------------------------------------------

TEST_CASE("link_outbox: it calls once for what there is, until it is taken",
          "[runtime]") {
  auto uut = link_outbox{};
  auto count = 0;
  uut.write("a");
  uut.on_change([&] { ++count; });
  CHECK(count == 1);
  uut.write("b");
  CHECK(count == 1);
  CHECK(uut.take() == "ab");
  uut.write("c");
  CHECK(count == 2);
  uut.on_change(nullptr);
  CHECK(uut.take() == "c");
  uut.write("d");
  CHECK(count == 2);
}

TEST_CASE("link_outbox: what was written before its end can be taken, and no "
          "more",
          "[runtime]") {
  auto uut = link_outbox{};
  auto count = 0;
  uut.on_change([&] { ++count; });
  uut.write("a");
  uut.end();
  uut.end();
  uut.write("b");
  CHECK_FALSE(uut.is_over());
  CHECK(uut.take() == "a");
  CHECK(uut.is_over());
  CHECK(count == 1);
  auto later = 0;
  uut.on_change([&] { ++later; });
  CHECK(later == 1);
}

// -- both sides -----------------------------------------------------------------

TEST_CASE_METHOD(remote_links_fixture,
                 "remote links: an agent's messages reach the coordinator, and "
                 "its answers the agent",
                 "[runtime]") {
  const auto there = connect();
  join(there);
  CHECK(told.take() == "accepted, fence 180000000000");
  CHECK(told.take() == "formed 1");
}

TEST_CASE_METHOD(remote_links_fixture,
                 "remote links: when a link ends, both sides are notified, and "
                 "a new one works",
                 "[runtime]") {
  const auto there = connect();
  tell_anonymously(agent, caf::actor_cast<caf::strong_actor_ptr>(there));
  CHECK(told.take() == "monitors");
  join(there);
  CHECK(told.take() == "accepted, fence 180000000000");
  CHECK(told.take() == "formed 1");
  cut();
  CHECK(told.take() == "down");
  CHECK(links->calls.take() == "probe");
  const auto again = connect();
  CHECK(again != there);
  join(again);
  CHECK(told.take() == "accepted, fence 180000000000");
  CHECK(told.take() == "formed 1"); // The plan again: no claim came with it.
}

TEST_CASE_METHOD(remote_links_fixture,
                 "remote links: the end of an agent's actor is the end of its "
                 "link",
                 "[runtime]") {
  const auto there = connect();
  join(there);
  CHECK(told.take() == "accepted, fence 180000000000");
  CHECK(told.take() == "formed 1");
  caf::anon_send_exit(agent, caf::exit_reason::user_shutdown);
  CHECK(links->calls.take() == "probe");
}

TEST_CASE_METHOD(remote_links_fixture,
                 "remote links: a status is asked for, and answered",
                 "[runtime]") {
  const auto there = connect();
  join(there);
  CHECK(told.take() == "accepted, fence 180000000000");
  auto answers = inbox<std::string>{};
  for (auto i = 0; i < 2; ++i) {
    client.system.spawn([&](caf::event_based_actor* self) {
      ask(self, there, timeout, v1::StatusRequest{})
        .then(
          [&](const v1::JobStatus& x) { answers.put(x.agents(0).agent_id()); },
          [&](const caf::error&) { answers.put("error"); });
    });
    CHECK(answers.take() == "a");
  }
}

TEST_CASE_METHOD(remote_links_fixture,
                 "remote links: what concerns one process only does not leave "
                 "it",
                 "[runtime]") {
  const auto there = connect();
  const auto before = dropped_message_count.load();
  tell_anonymously(there, core::stop_requested{15});
  join(there);
  CHECK(told.take() == "accepted, fence 180000000000");
  CHECK(dropped_message_count == before + 1);
}

// -- what an agent may say ------------------------------------------------------

namespace {

/// An agent's end of a link, which says what it likes.
struct agent_fixture : remote_links_fixture {
  void open(remote_agent_setup setup,
            std::function<bool(const std::string&)> may_speak_for = {}) {
    uut.emplace(
      std::make_unique<remote_agent>(server.system, std::move(setup)));
    uut->peer->begin({uut->outbox, std::move(may_speak_for)});
  }

  ~agent_fixture() {
    if (uut)
      uut->peer->end();
  }

  /// @returns what is wrong with it; empty: nothing
  template <class T>
  std::string say(T x, uint64_t number = 0) {
    auto envelope = envelope_with<v1::ToCoordinator>(std::move(x));
    envelope.set_number(number);
    return say_bytes(message_frame(envelope));
  }

  std::string say_bytes(const std::string& bytes) {
    const auto ok = uut->take(bytes);
    return ok ? "" : ok.error().text;
  }

  static v1::KeepAlive keep_alive(int64_t sent) {
    auto out = v1::KeepAlive{};
    out.set_agent_id("a");
    out.set_sent_ns(sent);
    return out;
  }

  /// The next message for the agent.
  std::optional<v1::ToAgent> next() {
    auto out = std::optional<v1::ToAgent>{};
    test_deadline::soon([&] {
      of_coordinator.add(uut->peer->take_answers());
      of_coordinator.add(uut->outbox->take());
      auto x = next_message<v1::ToAgent>(of_coordinator);
      REQUIRE(x);
      out = *x;
      return out.has_value();
    });
    return out;
  }

  frame_splitter of_coordinator{message_frame_max};
  std::optional<link_side_in_memory> uut;
};

} // namespace

TEST_CASE_METHOD(agent_fixture,
                 "remote_agent: it is welcomed with the version, and then told",
                 "[runtime]") {
  open(agent_setup());
  CHECK(next()->welcome().version() == protocol_version);
  CHECK(say(join_request()) == "");
  CHECK(next()->has_join_accepted());
  CHECK(next()->generation_formed().plan().generation() == 1);
}

TEST_CASE_METHOD(agent_fixture,
                 "remote_agent: S2 what no agent says ends the link",
                 "[runtime]") {
  open(agent_setup());
  auto another = join_request();
  another.mutable_offer()->set_agent_id("b");
  SECTION("anything before a request to join") {
    CHECK(say(keep_alive(1)) == "speaks before it has asked to join");
    CHECK(say(v1::StatusRequest{}) == "speaks before it has asked to join");
  }
  SECTION("a request to join as another agent") {
    CHECK(say(another) == "asks to join as another agent");
  }
  SECTION("a message of another agent") {
    CHECK(say(join_request()) == "");
    auto notice = v1::LeaveNotice{};
    notice.set_agent_id("b");
    CHECK(say(notice) == "sends a message of another agent");
  }
  SECTION("bytes that are no message") {
    CHECK(say_bytes(frame_header(2) + "\xff\xff")
          == "sends what is no message of ours");
  }
  SECTION("a message that is too long") {
    CHECK(say_bytes(std::string("\0\x10\0\1", 4))
          == "announces a message of 1048577 bytes");
  }
  SECTION("requests to join without an end") {
    for (auto i = 0; i < 64; ++i)
      CHECK(say(join_request()) == "");
    CHECK(say(join_request()) == "asks to join again and again");
  }
}

TEST_CASE_METHOD(agent_fixture,
                 "remote_agent: an address has to be in the certificate",
                 "[runtime]") {
  open(agent_setup(), [](const std::string& host) { return host == "n2"; });
  auto request = join_request();
  CHECK(say(request)
        == "announces an address that its certificate does not name");
  request.mutable_offer()->set_address("n2");
  CHECK(say(request) == "");
}

namespace {

/// Gets what a link delivers to a coordinator.
struct taker_state {
  static constexpr const char* name = "taker";

  taker_state(rendezvous_coordinator_actor::pointer, inbox<v1::JoinRequest>* x)
    : to(x) {}

  rendezvous_coordinator_actor::behavior_type make_behavior() {
    return extended_interface<rendezvous_coordinator_actor>::behavior(
      [this](const auto& x) { return on(x); });
  }

  void on_exit() {}

  template <class T>
  void on(const T&) {}
  caf::result<v1::JobStatus> on(const v1::StatusRequest&) {
    return v1::JobStatus{};
  }
  void on(const v1::JoinRequest& x) { to->put(x); }

  inbox<v1::JoinRequest>* to;
};

} // namespace

TEST_CASE_METHOD(
  agent_fixture,
  "remote_agent: another address than that of the link is marked",
  "[runtime]") {
  auto got = inbox<v1::JoinRequest>{};
  auto setup = agent_setup();
  setup.coordinator = server.keep(
    server.system.spawn<actor_impl<rendezvous_coordinator_actor, taker_state>>(
      &got));
  const auto is_marked = [&](const std::string& host) {
    setup.peer_host = host;
    open(setup);
    auto request = join_request();
    request.set_is_address_unproved(true); // It is not the agent's to say.
    request.set_comes_by_link(false);
    CHECK(say(request) == "");
    const auto x = got.take();
    uut->peer->end();
    REQUIRE(x);
    CHECK(x->comes_by_link());
    return x->is_address_unproved();
  };
  CHECK_FALSE(is_marked("10.0.0.1"));
  CHECK_FALSE(is_marked("::ffff:10.0.0.1"));
  CHECK_FALSE(is_marked(""));
  CHECK(is_marked("10.0.0.2"));
}

TEST_CASE_METHOD(
  agent_fixture,
  "remote_agent: keep-alives are answered while there is a lease",
  "[runtime]") {
  auto setup = agent_setup();
  auto heard = std::vector<int64_t>{};
  setup.hear = [&](int64_t sent) {
    heard.push_back(sent);
    return sent == 2 ? std::nullopt : std::optional{sent * 40ms};
  };
  open(setup);
  CHECK(next()->has_welcome());
  CHECK(say(join_request()) == "");
  CHECK(next()->has_join_accepted());
  CHECK(next()->has_generation_formed());
  for (auto sent : {1, 2, 3})
    CHECK(say(keep_alive(sent)) == "");
  CHECK(heard == std::vector<int64_t>{1, 2, 3});
  for (auto sent : {1, 3}) {
    const auto answer = next()->lease_granted();
    CHECK(answer.sent_ns() == sent);
    CHECK(answer.age_ns() == sent * 40'000'000u);
  }
}

TEST_CASE_METHOD(agent_fixture,
                 "remote_agent: what a later version says is left alone, with "
                 "one line",
                 "[runtime]") {
  auto lines = actorrun::test::log_lines{};
  auto setup = agent_setup();
  setup.lines = lines.writer();
  open(setup);
  const auto later = frame_header(4) + "\xc2\x3e\x01x";
  CHECK(say_bytes(later) == "");
  CHECK(say_bytes(later) == "");
  CHECK(lines.told()
        == "info agent a sends messages that this version does not know; they "
           "are left alone\n");
}

TEST_CASE_METHOD(agent_fixture,
                 "remote_agent: S4 questions need an answer before the next",
                 "[runtime]") {
  SECTION("of a member") {
    open(agent_setup());
    CHECK(next()->has_welcome());
    CHECK(say(join_request()) == "");
    CHECK(next()->has_join_accepted());
    CHECK(next()->has_generation_formed());
    for (uint64_t i = 1; i <= 10; ++i) {
      CHECK(say(v1::StatusRequest{}, i) == "");
      auto x = next();
      while (x && x->has_node_status_request()) // It asks the node, too.
        x = next();
      REQUIRE(x);
      CHECK(x->number() == i);
      CHECK(x->job_status().agents_size() == 1);
    }
  }
  SECTION("of a peer that was not accepted") {
    auto setup = agent_setup();
    setup.is_member = [] { return false; };
    open(setup);
    CHECK(say(join_request()) == "");
    for (auto i = 0; i < 8; ++i)
      CHECK(say(v1::StatusRequest{}) == "");
    CHECK(say(v1::StatusRequest{})
          == "asks for the status again and again: 8 questions have no answer"
             " yet");
  }
}

// -- what a coordinator may say -------------------------------------------------

namespace {

/// A coordinator's end of a link, which says what it likes.
struct coordinator_fixture : remote_links_fixture {
  coordinator_fixture() { uut.peer->begin({uut.outbox, {}}); }
  ~coordinator_fixture() { uut.peer->end(); }

  template <class T>
  std::string say(T x, uint64_t number = 0) {
    auto envelope = envelope_with<v1::ToAgent>(std::move(x));
    envelope.set_number(number);
    const auto ok = uut.take(message_frame(envelope));
    return ok ? "" : ok.error().text;
  }

  static v1::Welcome in_version(uint32_t version) {
    auto out = v1::Welcome{};
    out.set_version(version);
    return out;
  }

  rendezvous_coordinator_actor welcome() {
    CHECK(say(in_version(protocol_version)) == "");
    const auto got = found.take();
    REQUIRE(got);
    return *got;
  }

  /// The next message for the coordinator.
  v1::ToCoordinator next() {
    auto out = std::optional<v1::ToCoordinator>{};
    CHECK(test_deadline::soon([&] {
      of_agent.add(uut.outbox->take());
      auto x = next_message<v1::ToCoordinator>(of_agent);
      REQUIRE(x);
      out = *x;
      return out.has_value();
    }));
    return out.value_or(v1::ToCoordinator{});
  }

  actorrun::test::log_lines lines;
  frame_splitter of_agent{message_frame_max};
  link_side_in_memory uut{std::make_unique<remote_coordinator>(
    client.system, lines.writer(),
    [this](rendezvous_coordinator_actor x) { found.put(std::move(x)); })};
};

v1::LeaseGranted granted(int64_t sent) {
  auto out = v1::LeaseGranted{};
  out.set_sent_ns(sent);
  return out;
}

} // namespace

TEST_CASE_METHOD(coordinator_fixture,
                 "remote_coordinator: who answers may point elsewhere, where "
                 "that is expected",
                 "[runtime]") {
  auto pointer = in_version(protocol_version);
  pointer.set_elsewhere("10.0.0.2:41000");
  CHECK(say(pointer) == "points elsewhere");
  auto places = inbox<std::string>{};
  auto other = remote_coordinator{
    client.system, lines.writer(),
    [this](rendezvous_coordinator_actor x) { found.put(std::move(x)); },
    [&](const std::string& where) { places.put(where); }};
  const auto content = envelope_with<v1::ToAgent>(pointer).SerializeAsString();
  CHECK(other.take(content));
  CHECK(places.take() == "10.0.0.2:41000");
  CHECK(found.size() == 0);
  other.end();
}

TEST_CASE_METHOD(coordinator_fixture,
                 "remote_coordinator: it serves the link before it speaks, to "
                 "the actor that asks to join",
                 "[runtime]") {
  CHECK(say(granted(1)) == "speaks before it serves the link");
  const auto there = welcome();
  CHECK(say(granted(2)) == ""); // For no receiver.
  CHECK(say(in_version(protocol_version)) == "");
  join(there);
  CHECK(next().join_request().offer().agent_id() == "a");
  CHECK(say(granted(3)) == "");
  CHECK(told.take() == "granted 3");
}

TEST_CASE_METHOD(coordinator_fixture,
                 "remote_coordinator: it speaks a version that both know",
                 "[runtime]") {
  CHECK(say(in_version(protocol_version_min - 1))
        == "serves the link in protocol version 11");
  CHECK(say(in_version(protocol_version + 1))
        == "serves the link in protocol version 13");
  welcome();
}

TEST_CASE_METHOD(coordinator_fixture,
                 "remote_coordinator: an answer goes to its question",
                 "[runtime]") {
  const auto there = welcome();
  auto answers = inbox<std::string>{};
  client.system.spawn([&](caf::event_based_actor* self) {
    for (auto i = 0; i < 2; ++i)
      ask(self, there, timeout, v1::StatusRequest{})
        .then(
          [&, i](const v1::JobStatus& x) {
            answers.put(std::to_string(i) + x.job_id());
          },
          [&](const caf::error&) { answers.put("error"); });
  });
  const auto first = next();
  const auto second = next();
  CHECK(first.has_status_request());
  CHECK(first.number() != second.number());
  auto x = v1::JobStatus{};
  x.set_job_id("two");
  CHECK(say(x, second.number()) == "");
  CHECK(say(x, 77) == ""); // Of no question.
  x.set_job_id("one");
  CHECK(say(x, first.number()) == "");
  CHECK(answers.take() == "1two");
  CHECK(answers.take() == "0one");
}

TEST_CASE_METHOD(coordinator_fixture,
                 "remote_coordinator: what a later version says is left alone, "
                 "with one line",
                 "[runtime]") {
  const auto later = frame_header(4) + "\xc2\x3e\x01x";
  CHECK(uut.take(later));
  const auto there = welcome();
  CHECK(uut.take(later));
  CHECK(lines.told()
        == "info the coordinator sends messages that this version does not"
           " know; they are left alone\n");
  join(there);
  CHECK(next().has_join_request());
}

TEST_CASE_METHOD(coordinator_fixture,
                 "remote_coordinator: what no frame can carry ends the link",
                 "[runtime]") {
  const auto there = welcome();
  auto request = join_request();
  request.mutable_offer()->set_host(std::string(message_frame_max, 'x'));
  remote_links_fixture::say(there, request);
  CHECK(test_deadline::soon([&] { return uut.outbox->is_over(); }));
}

} // namespace actorrun::test::remote_links_test
