#include "runtime/network/frame_filter.hpp"
#include "tests/runtime/network/frame_writer.hpp"
#include "tests/support/catch.hpp"

#include "messages/rendezvous.pb.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace actorrun;
using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

constexpr auto coordinator = uint64_t{7};
constexpr auto agent = uint64_t{9};

link_ends at_server() {
  return {link_side::server, "n1-7-0badcafe", node('s'), coordinator};
}

link_ends at_client() {
  return {link_side::client, "n1-7-0badcafe", node('c'), 0};
}

std::string join_as(const std::string& id) {
  auto x = v1::JoinRequest{};
  x.mutable_offer()->set_agent_id(id);
  return content_of("actorrun::v1::JoinRequest", x.SerializeAsString());
}

/// Protobuf's bytes of a message whose first field is the id of its agent.
std::string about(const std::string& id) {
  auto x = v1::LeaveNotice{};
  x.set_agent_id(id);
  return x.SerializeAsString();
}

/// Of an agent to its coordinator, in which it names itself; or the other way
/// round.
std::string message(const std::string& type, uint64_t source = agent,
                    uint64_t destination = coordinator) {
  return write_frame({.source = source,
                      .destination = destination,
                      .content = content_of(
                        "actorrun::v1::" + type,
                        source == coordinator ? "" : about("n1-7-0badcafe"))});
}

std::string join_of(const std::string& id) {
  return write_frame(
    {.source = agent, .destination = coordinator, .content = join_as(id)});
}

std::string keep_alive_of(const std::string& id, int64_t sent_ns,
                          uint64_t destination = coordinator) {
  auto x = v1::KeepAlive{};
  x.set_agent_id(id);
  x.set_sent_ns(sent_ns);
  return write_frame(
    {.source = agent,
     .destination = destination,
     .content = content_of("actorrun::v1::KeepAlive", x.SerializeAsString())});
}

std::string grant_of(int64_t sent_ns) {
  auto x = v1::LeaseGranted{};
  x.set_sent_ns(sent_ns);
  return write_frame({.source = coordinator,
                      .destination = agent,
                      .content = content_of("actorrun::v1::LeaseGranted",
                                            x.SerializeAsString())});
}

/// A filter whose other side has greeted and asked to join.
struct fixture {
  fixture() {
    CHECK(arrives(client_greeting('c')));
    CHECK(arrives(join_of(at_server().client_id)));
  }

  /// Whether the frame passes as it is.
  bool arrives(const std::string& frame) {
    auto out = std::string{};
    return uut.arriving(frame, out) && out == frame;
  }

  bool leaves(const std::string& frame) {
    auto out = std::string{};
    return uut.leaving(frame, out) && out == frame;
  }

  frame_filter uut{at_server()};
};

} // namespace

TEST_CASE("frame_filter: an announced size is believed up to a megabyte",
          "[runtime]") {
  auto uut = frame_splitter{caf_frame_layout};
  auto frame = client_greeting('c');
  frame.replace(4, 4, network_order(frame_content_max, 4));
  uut.add(frame);
  CHECK(uut.next());
  auto other = frame_splitter{caf_frame_layout};
  frame.replace(4, 4, network_order(frame_content_max + 1, 4));
  other.add(frame.substr(0, frame_header_size - 1));
  CHECK(other.next());
  other.add(frame.substr(frame_header_size - 1, 1));
  CHECK_FALSE(other.next());
}

TEST_CASE("frame_filter: frames are cut out of a stream at any boundary",
          "[runtime]") {
  const auto stream = client_greeting('c') + join_of(at_server().client_id)
                      + message("KeepAlive")
                      + client_greeting('c', select_connection_flag)
                      + message("LeaveNotice");
  for (size_t step = 1; step <= stream.size(); ++step) {
    auto uut = frame_filter{at_server()};
    auto out = std::string{};
    for (size_t i = 0; i < stream.size(); i += step)
      REQUIRE(uut.arriving(stream.substr(i, step), out));
    CHECK(out == stream);
  }
}

TEST_CASE("frame_filter: nothing passes before the greeting", "[runtime]") {
  for (const auto& frame :
       {message("KeepAlive"), client_greeting('c', select_connection_flag),
        write_frame({.kind = frame_kind::sign_of_life}),
        server_greeting('c', 9)}) {
    auto out = std::string{};
    CHECK_FALSE(frame_filter{at_server()}.arriving(frame, out));
    CHECK(out.empty());
  }
}

TEST_CASE(
  "frame_filter: a greeting without a content, with ours, or of another "
  "form, is refused",
  "[runtime]") {
  auto out = std::string{};
  const auto as_client = [&](const std::string& frame) {
    return bool{frame_filter{at_server()}.arriving(frame, out)};
  };
  CHECK(as_client(client_greeting('c')));
  CHECK_FALSE(as_client(client_greeting('s')));
  CHECK_FALSE(as_client(write_frame({.kind = frame_kind::client_handshake})));
  CHECK_FALSE(as_client(write_frame(
    {.kind = frame_kind::client_handshake, .content = node('c') + "more"})));
  CHECK_FALSE(as_client(write_frame(
    {.kind = frame_kind::client_handshake, .content = std::string(32, 'x')})));
  const auto as_server = [&](const std::string& frame) {
    return bool{frame_filter{at_client()}.arriving(frame, out)};
  };
  CHECK(as_server(server_greeting('s', 7)));
  CHECK_FALSE(as_server(server_greeting('s', 0)));
  CHECK_FALSE(as_server(server_greeting('c', 7)));
  CHECK_FALSE(as_server(
    write_frame({.kind = frame_kind::server_handshake, .operation_data = 3})));
}

TEST_CASE_METHOD(fixture,
                 "frame_filter: a client repeats its greeting once, as itself",
                 "[runtime]") {
  CHECK(arrives(client_greeting('c', select_connection_flag)));
  CHECK_FALSE(arrives(client_greeting('c', select_connection_flag)));
  auto other = fixture{};
  CHECK_FALSE(other.arrives(client_greeting('d', select_connection_flag)));
}

TEST_CASE("frame_filter: each role sends its own messages only", "[runtime]") {
  const auto [side, type, passes]
    = GENERATE(table<link_side, std::string, bool>({
      {link_side::server, "KeepAlive", true},
      {link_side::server, "WorkersStopped", true},
      {link_side::server, "SafePointReport", true},
      {link_side::server, "SafePointOrder", false},
      {link_side::server, "CharterChanged", false},
      {link_side::server, "StartAhead", false},
      {link_side::client, "StartAhead", true},
      {link_side::server, "StatusRequest", true},
      {link_side::server, "NodeStatus", true},
      {link_side::server, "NodeStatusRequest", false},
      {link_side::server, "GenerationFormed", false},
      {link_side::server, "JobEnded", false},
      {link_side::server, "Unheard", false},
      {link_side::client, "GenerationFormed", true},
      {link_side::client, "JobEnded", true},
      {link_side::client, "NodeStatusRequest", true},
      {link_side::client, "NodeStatus", false},
      {link_side::client, "KeepAlive", false},
    }));
  const auto is_server = side == link_side::server;
  auto uut = frame_filter{is_server ? at_server() : at_client()};
  auto out = std::string{};
  REQUIRE(uut.arriving(
    is_server ? client_greeting('c') : server_greeting('s', 7), out));
  // At a client only the actors that have written can be reached.
  if (is_server)
    REQUIRE(uut.arriving(join_of(at_server().client_id), out));
  else
    REQUIRE(uut.leaving(message("KeepAlive", agent, coordinator), out));
  out.clear();
  const auto frame = is_server ? message(type, agent, coordinator)
                               : message(type, coordinator, agent);
  CAPTURE(type, is_server);
  CHECK(bool{uut.arriving(frame, out)} == passes);
  CHECK(out == (passes ? frame : ""));
}

TEST_CASE_METHOD(fixture,
                 "frame_filter: a request to join bears the id of the "
                 "handshake",
                 "[runtime]") {
  const auto join = [](const std::string& id) {
    return write_frame(
      {.source = agent, .destination = coordinator, .content = join_as(id)});
  };
  CHECK(arrives(join("n1-7-0badcafe")));
  CHECK_FALSE(arrives(join("n2-8-0badcafe")));
}

TEST_CASE_METHOD(fixture, "frame_filter: nothing joins over and over",
                 "[runtime]") {
  const auto frame = write_frame({.source = agent,
                                  .destination = coordinator,
                                  .content = join_as("n1-7-0badcafe")});
  for (auto i = 1; i < 64; ++i)
    REQUIRE(arrives(frame));
  CHECK_FALSE(arrives(frame));
}

TEST_CASE_METHOD(fixture,
                 "frame_filter: a message is for an actor that the other "
                 "side can know, in one of the forms of ours",
                 "[runtime]") {
  const auto good = frame_fields{
    .source = agent,
    .destination = coordinator,
    .content = content_of("actorrun::v1::KeepAlive", about("n1-7-0badcafe"))};
  const auto with = [&](auto change) {
    auto out = good;
    change(out);
    return write_frame(out);
  };
  REQUIRE(arrives(write_frame(good)));
  CHECK(arrives(with([](auto& x) { x.operation_data = normal_message + 7; })));
  CHECK(
    arrives(with([](auto& x) { x.operation_data = 0x9000'0000'0000'0001; })));
  const auto bad = GENERATE_COPY(values<std::string>({
    with([](auto& x) { x.operation_data = 0x2000'0000'0000'0000; }),
    with([](auto& x) { x.operation_data = 0x3000'0000'0000'0000; }),
    with([](auto& x) { x.operation_data = 0x5000'0000'0000'0000; }),
    with([](auto& x) { x.operation_data = 1; }),
    with([](auto& x) { x.destination = 8; }),
    with([](auto& x) { x.destination = 0; }),
    with([](auto& x) { x.source = 0; }),
    with([](auto& x) { x.flags = named_receiver_flag; }),
    with([](auto& x) { x.kind = frame_kind::routed_message; }),
    with([](auto& x) { x.content.clear(); }),
    with([](auto& x) { x.content += '\0'; }),
    with([](auto& x) { x.content.pop_back(); }),
    with([](auto& x) { x.content[0] = 1; }),
    with([](auto& x) { x.content = content_of("@atom+@strong_actor_ptr"); }),
    with([](auto& x) { x.content = content_of("@error"); }),
    with([](auto& x) { x.content = content_of("@exit"); }),
    with([](auto& x) {
      x.content = content_of("actorrun::v1::KeepAlive+actorrun::v1::KeepAlive");
    }),
    with([](auto& x) { x.kind = static_cast<frame_kind>(7); }),
  }));
  CHECK_FALSE(arrives(bad));
}

TEST_CASE_METHOD(fixture,
                 "frame_filter: a peer speaks about itself and us only",
                 "[runtime]") {
  const auto watch = [](const std::string& nodes, uint64_t actor) {
    return write_frame({.kind = frame_kind::monitor_message,
                        .destination = actor,
                        .content = nodes});
  };
  const auto reason = std::string(9, '\1') + std::string(2, '\0') + "\x03@<>";
  const auto end = [](const std::string& content, uint64_t actor = agent) {
    return write_frame(
      {.kind = frame_kind::down_message, .source = actor, .content = content});
  };
  CHECK(arrives(watch(node('c') + node('s'), coordinator)));
  CHECK(arrives(end(node('c') + node('s') + reason)));
  const auto bad = GENERATE_COPY(values<std::string>({
    watch(node('c') + node('d'), coordinator), // CAF would pass it on.
    watch(node('d') + node('s'), coordinator),
    watch(node('c') + node('s'), coordinator + 1),
    watch(node('c'), coordinator),
    end(node('c') + node('d') + reason),
    end(node('d') + node('s') + reason),
    end(node('c') + node('s') + reason, 0),
    end(node('c') + node('s')),
    // A reason may hold a message, which CAF would read.
    end(node('c') + node('s') + std::string(9, '\1') + std::string(2, '\0')
        + "\x07@<>+@i32" + std::string(4, '\0')),
    write_frame({.kind = frame_kind::sign_of_life, .content = "x"}),
    write_frame({.kind = frame_kind::sign_of_life, .destination = coordinator}),
  }));
  CHECK_FALSE(arrives(bad));
}

TEST_CASE_METHOD(fixture, "frame_filter: one link has few actors at its ends",
                 "[runtime]") {
  // One has asked to join.
  for (uint64_t i = 101; i < 164; ++i)
    REQUIRE(arrives(message("KeepAlive", i)));
  CHECK(arrives(message("KeepAlive", 101)));
  CHECK_FALSE(arrives(message("KeepAlive", 164)));
}

TEST_CASE_METHOD(fixture,
                 "frame_filter: what CAF asks servers that we do not have "
                 "does not leave",
                 "[runtime]") {
  CHECK(leaves(server_greeting('s', coordinator)));
  CHECK(leaves(message("GenerationFormed", coordinator, agent)));
  CHECK_FALSE(leaves(write_frame({.flags = named_receiver_flag,
                                  .source = 3,
                                  .destination = 12,
                                  .content = content_of("@atom")})));
  CHECK_FALSE(leaves(message("KeepAlive", coordinator, agent)));
  // … nor makes its author known to the other side.
  CHECK_FALSE(arrives(message("KeepAlive", agent, 3)));
}

TEST_CASE("frame_filter: noise is refused and harmless", "[runtime]") {
  auto random = std::mt19937{20'261'123};
  const auto good = client_greeting('c')
                    + write_frame({.source = agent,
                                   .destination = coordinator,
                                   .content = join_as("n1-7-0badcafe")})
                    + message("KeepAlive");
  const auto greeting = client_greeting('c').size();
  auto passed = 0;
  for (auto round = 0; round < 100'000; ++round) {
    auto bytes = good;
    for (auto i = random() % 3; i < 3; ++i)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    auto uut = frame_filter{at_server()};
    auto out = std::string{};
    passed += uut.arriving(bytes, out) ? 1 : 0;
    REQUIRE(bytes.starts_with(out.substr(0, greeting)));
    REQUIRE(out.size() <= bytes.size() + 2); // A request to join gets a mark.
  }
  CHECK(passed < 50'000); // Numbers and texts of messages may be any.
}

TEST_CASE("frame_filter: S6 a request to join says whether its address is that "
          "of the link, whatever the other side says",
          "[runtime]") {
  const auto is_unproved
    = [](const std::string& peer_host, const std::string& address, bool said) {
        auto uut = frame_filter{at_server(), {}, {}, {}, peer_host};
        auto x = v1::JoinRequest{};
        x.mutable_offer()->set_agent_id("n1-7-0badcafe");
        x.mutable_offer()->set_address(address);
        x.set_is_address_unproved(said);
        auto out = std::string{};
        REQUIRE(uut.arriving(client_greeting('c'), out));
        out.clear();
        REQUIRE(uut.arriving(
          write_frame({.source = agent,
                       .destination = coordinator,
                       .content = content_of("actorrun::v1::JoinRequest",
                                             x.SerializeAsString())}),
          out));
        const auto frame = parse_frame(out);
        CHECK(frame.source == agent);
        CHECK(frame.destination == coordinator);
        CHECK(frame.operation_data == normal_message);
        const auto message = parse_message(frame.content);
        REQUIRE(message);
        auto passed = v1::JoinRequest{};
        REQUIRE(passed.ParseFromString(std::string{message->bytes}));
        CHECK(passed.offer().address() == address);
        return passed.is_address_unproved();
      };
  for (const auto said : {false, true}) {
    CHECK_FALSE(is_unproved("10.0.0.1", "10.0.0.1", said));
    CHECK_FALSE(is_unproved("::ffff:10.0.0.1", "10.0.0.1", said));
    CHECK(is_unproved("10.0.0.1", "10.0.0.2", said));
    CHECK(is_unproved("10.0.0.1", "n1", said));
    CHECK(is_unproved("10.0.0.1", "", said));
    CHECK(is_unproved("::ffff:10.0.0.1", "10.0.0.2", said));
    CHECK_FALSE(is_unproved("", "10.0.0.2", said)); // A certificate names it.
  }
}

TEST_CASE("frame_filter: a request to join brings an address that the other "
          "side may speak for",
          "[runtime]") {
  const auto join_at = [](const std::string& address) {
    auto x = v1::JoinRequest{};
    x.mutable_offer()->set_agent_id("n1-7-0badcafe");
    x.mutable_offer()->set_address(address);
    return write_frame({.source = agent,
                        .destination = coordinator,
                        .content = content_of("actorrun::v1::JoinRequest",
                                              x.SerializeAsString())});
  };
  auto uut = frame_filter{
    at_server(), [](const std::string& host) { return host == "10.0.0.1"; }};
  auto out = std::string{};
  REQUIRE(uut.arriving(client_greeting('c'), out));
  CHECK(uut.arriving(join_at("10.0.0.1"), out));
  CHECK_FALSE(uut.arriving(join_at("10.0.0.2"), out));
}

TEST_CASE("frame_filter: keep-alives are answered in the coordinator's place",
          "[runtime]") {
  auto stamps = std::vector<int64_t>{};
  auto uut = frame_filter{at_server(), {}, [&](int64_t sent_ns) {
                            stamps.push_back(sent_ns);
                            return sent_ns != 3;
                          }};
  auto out = std::string{};
  const auto other = message("LeaveNotice");
  const auto id = at_server().client_id;
  const auto begin = client_greeting('c') + join_of(id);
  REQUIRE(uut.arriving(begin + keep_alive_of(id, 1) + other
                         + keep_alive_of(id, 2) + keep_alive_of(id, 3),
                       out));
  CHECK(out == begin + other);
  CHECK(stamps == std::vector<int64_t>{1, 2, 3});
  CHECK(uut.take_answers() == grant_of(1) + grant_of(2));
  CHECK(uut.take_answers().empty());
}

TEST_CASE("frame_filter: no agent renews another one's lease", "[runtime]") {
  const auto bad = GENERATE(
    keep_alive_of("n2-8-0badcafe", 1),
    write_frame({.source = agent,
                 .destination = coordinator,
                 .content = content_of("actorrun::v1::KeepAlive", "\xff")}),
    // What would not pass without an answer does not with one.
    keep_alive_of(at_server().client_id, 1, 99));
  auto asked = 0;
  auto uut = frame_filter{at_server(), {}, [&](int64_t) { return ++asked; }};
  auto out = std::string{};
  REQUIRE(
    uut.arriving(client_greeting('c') + join_of(at_server().client_id), out));
  out.clear();
  CHECK_FALSE(uut.arriving(bad, out));
  CHECK(out.empty());
  CHECK(uut.take_answers().empty());
  CHECK(asked == 0);
}

TEST_CASE("frame_filter: S2 nothing is said in the name of another agent",
          "[runtime]") {
  const auto type = GENERATE(values<std::string>(
    {"KeepAlive", "WorkersStarted", "WorkerFailed", "WorkersStopped",
     "WorkersSucceeded", "LeaveNotice", "NodeStatus", "LogChunk",
     "StacksReport", "SafePointReport"}));
  CAPTURE(type);
  const auto of = [&](const std::string& id) {
    return write_frame(
      {.source = agent,
       .destination = coordinator,
       .content = content_of("actorrun::v1::" + type, about(id))});
  };
  auto uut = fixture{};
  CHECK(uut.arrives(of("n1-7-0badcafe")));
  auto out = std::string{};
  const auto cut = uut.uut.arriving(of("n2-8-0badcafe"), out);
  REQUIRE_FALSE(cut);
  CHECK(cut.error().text.starts_with("sends a message of another agent"));
  CHECK(out.empty());
}

TEST_CASE("frame_filter: S4 nothing is said before a request to join",
          "[runtime]") {
  const auto type = GENERATE(
    values<std::string>({"StatusRequest", "LeaveNotice", "KeepAlive"}));
  auto uut = frame_filter{at_server()};
  auto out = std::string{};
  REQUIRE(uut.arriving(client_greeting('c'), out));
  const auto cut = uut.arriving(message(type), out);
  REQUIRE_FALSE(cut);
  CHECK(cut.error().text == "speaks before it has asked to join");
  CHECK(out == client_greeting('c'));
}

TEST_CASE_METHOD(fixture,
                 "frame_filter: S4 only a few requests for the status wait for "
                 "their answers",
                 "[runtime]") {
  const auto request = message("StatusRequest");
  const auto answer = [](const std::string& type, uint64_t data) {
    return write_frame({.operation_data = data,
                        .source = coordinator,
                        .destination = agent,
                        .content = content_of("actorrun::v1::" + type)});
  };
  for (auto i = 0; i < 8; ++i)
    REQUIRE(arrives(request));
  CHECK(leaves(answer("JobStatus", 0x9000'0000'0000'0001)));
  CHECK(arrives(request));
  // An error is an answer, too, and never leaves.
  CHECK_FALSE(leaves(write_frame({.operation_data = 0x9000'0000'0000'0002,
                                  .source = coordinator,
                                  .destination = agent,
                                  .content = content_of("@error")})));
  CHECK(arrives(request));
  // Other messages are none.
  CHECK(leaves(answer("GenerationFormed", normal_message)));
  auto out = std::string{};
  const auto cut = uut.arriving(request, out);
  REQUIRE_FALSE(cut);
  CHECK(cut.error().text.starts_with("asks for the status again and again"));
}

TEST_CASE("frame_filter: S4 the status is not for those that were not accepted",
          "[runtime]") {
  auto is_member = false;
  auto uut = frame_filter{at_server(), {}, {}, [&] { return is_member; }};
  auto out = std::string{};
  REQUIRE(
    uut.arriving(client_greeting('c') + join_of(at_server().client_id), out));
  out.clear();
  for (auto i = 0; i < 7; ++i)
    REQUIRE(uut.arriving(message("StatusRequest"), out));
  CHECK(out.empty());
  is_member = true;
  CHECK(uut.arriving(message("StatusRequest"), out));
  CHECK(out == message("StatusRequest"));
  CHECK_FALSE(uut.arriving(message("StatusRequest"), out));
}

TEST_CASE_METHOD(fixture, "frame_filter: what CAF could not read cuts the link",
                 "[runtime]") {
  CHECK_FALSE(arrives(
    write_frame({.source = agent,
                 .destination = coordinator,
                 .content = content_of("actorrun::v1::WorkersStopped",
                                       about("n1-7-0badcafe") + "\x1a\x7f")})));
}

TEST_CASE("frame_filter: an answer is what the other side's filter lets in",
          "[runtime]") {
  auto server = frame_filter{at_server(), {}, [](int64_t) { return true; }};
  auto client = frame_filter{at_client()};
  auto out = std::string{};
  REQUIRE(client.arriving(server_greeting('s', coordinator), out));
  REQUIRE(server.arriving(client_greeting('c') + join_of(at_server().client_id),
                          out));
  out.clear();
  REQUIRE(client.leaving(keep_alive_of(at_server().client_id, 5), out));
  auto ignored = std::string{};
  REQUIRE(server.arriving(out, ignored));
  const auto answer = server.take_answers();
  auto in = std::string{};
  CHECK(client.arriving(answer, in));
  CHECK(in == grant_of(5));
}
