// Replays what earlier versions have said over their links: one file per version of the
// protocol.

#include "tests/runtime/deadline.hpp"
#include "tests/runtime/network/remote_links_fixture.hpp"

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace actorrun::test::link_recordings_test {

using namespace actorrun::detail;
using namespace actorrun::detail::test;

namespace {

struct spoken {
  std::string speaker;
  std::string name;
  std::string content;
};

std::string bytes_of(const std::string& hex) {
  auto out = std::string{};
  for (size_t i = 0; i < hex.size(); i += 2)
    out += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return out;
}

std::vector<spoken> recording(int version) {
  auto file = std::ifstream{std::string{LINK_RECORDINGS} + "/link_version_"
                            + std::to_string(version) + ".txt"};
  auto out = std::vector<spoken>{};
  for (auto line = std::string{}; std::getline(file, line);) {
    if (line.starts_with('#'))
      continue;
    auto in = std::istringstream{line};
    auto x = spoken{};
    auto hex = std::string{};
    in >> x.speaker >> x.name >> hex;
    x.content = bytes_of(hex);
    out.push_back(std::move(x));
  }
  REQUIRE_FALSE(out.empty());
  return out;
}

/// The type of a message; empty: it is not known.
template <class Envelope>
std::string type_of(const std::string& content) {
  auto out = std::string{};
  auto x = Envelope{};
  if (x.ParseFromString(content))
    open_envelope(x, [&](const auto& y) { out = y.GetTypeName(); });
  return out;
}

/// An agent that notes the types of the messages that it gets.
struct taker_state {
  static constexpr const char* name = "taker";

  taker_state(node_agent_actor::pointer, inbox<std::string>* x) : to(x) {}

  node_agent_actor::behavior_type make_behavior() {
    return extended_interface<node_agent_actor>::behavior(
      [this](const auto& x) { return on(x); });
  }

  void on_exit() {}

  template <class T>
  void on(const T& x) {
    if constexpr (requires { x.GetTypeName(); })
      to->put(x.GetTypeName());
  }
  caf::result<v1::JobStatus> on(const v1::StatusRequest&) {
    return v1::JobStatus{};
  }

  inbox<std::string>* to;
};

} // namespace

TEST_CASE("link recordings: each message of an earlier version is understood",
          "[runtime]") {
  auto names = std::set<std::string>{};
  for (const auto& x : recording(12)) {
    INFO(x.name);
    const auto type = x.speaker == "agent"
                        ? type_of<v1::ToCoordinator>(x.content)
                        : type_of<v1::ToAgent>(x.content);
    CHECK(type == "actorrun.v1." + x.name);
    names.insert(x.name);
  }
  CHECK(names.size() == 29);
}

TEST_CASE_METHOD(remote_links_fixture,
                 "link recordings: an agent of an earlier version takes part",
                 "[runtime]") {
  auto setup = agent_setup();
  setup.id = std::string{"n2-4711-0badcafe"};
  auto uut = link_side_in_memory{
    std::make_unique<remote_agent>(server.system, std::move(setup))};
  uut.peer->begin({uut.outbox, {}});
  for (const auto& x : recording(12))
    if (x.speaker == "agent") {
      INFO(x.name);
      CHECK(uut.peer->take(x.content));
    }
  uut.peer->end();
}

TEST_CASE_METHOD(remote_links_fixture,
                 "link recordings: a coordinator of an earlier version is "
                 "followed",
                 "[runtime]") {
  const auto taker = client.keep(
    client.system.spawn<actor_impl<node_agent_actor, taker_state>>(&told));
  auto uut = link_side_in_memory{std::make_unique<remote_coordinator>(
    client.system, actorrun::log{},
    [this](rendezvous_coordinator_actor x) { found.put(std::move(x)); })};
  uut.peer->begin({uut.outbox, {}});
  for (const auto& x : recording(12)) {
    if (x.speaker != "coordinator")
      continue;
    INFO(x.name);
    CHECK(uut.peer->take(x.content));
    if (x.name == "Welcome") {
      const auto there = found.take();
      REQUIRE(there);
      tell_as(taker, *there, join_request());
      CHECK(test_deadline::soon([&] { return !uut.outbox->take().empty(); }));
    } else if (x.name != "JobStatus") { // It answers no question of this agent.
      CHECK(told.take() == "actorrun.v1." + x.name);
    }
  }
  uut.peer->end();
}

} // namespace actorrun::test::link_recordings_test
