// Tests who listens at MASTER_PORT. tests/runtime and tests/torch test the
// protocol.
#include "tests/support/catch.hpp"
#include "tests/system/scene.hpp"

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace actorrun::test::store_test {

namespace {

/// An address as /proc/net writes it.
constexpr auto loopback = "0100007F";
constexpr auto is_listening = "0A";

/// The addresses of listeners at this port.
words listeners_at(uint16_t port) {
  auto out = words{};
  for (const auto* path : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    auto file = std::ifstream{path};
    auto line = std::string{};
    std::getline(file, line); // The heading.
    while (std::getline(file, line)) {
      auto columns = std::istringstream{line};
      auto number = std::string{};
      auto local = std::string{};
      auto remote = std::string{};
      auto state = std::string{};
      columns >> number >> local >> remote >> state;
      const auto colon = local.find(':');
      if (state == is_listening
          && std::stoul(local.substr(colon + 1), nullptr, 16) == port)
        out.push_back(local.substr(0, colon));
    }
  }
  return out;
}

/// 0 if there is no such process.
pid_t parent_of(pid_t pid) {
  auto file = std::ifstream{"/proc/" + std::to_string(pid) + "/status"};
  for (auto word = std::string{}; file >> word;)
    if (auto parent = pid_t{}; word == "PPid:" && file >> parent)
      return parent;
  return 0;
}

} // namespace

TEST_CASE_METHOD(scene, "store: a job of one node serves only on loopback",
                 "[store]") {
  auto& node = run({"--nproc-per-node=1", "--no-python", STAMPING_WORKER,
                    "--folder=" + folder() + "/stamps"});
  const auto world = await_world(1);
  CHECK(world[0].master_address == "127.0.0.1");
  CHECK(listeners_at(world[0].master_port) == words{loopback});
  order_end();
  CHECK(node.wait() == 0);
  CHECK(listeners_at(world[0].master_port).empty());
}

TEST_CASE_METHOD(scene,
                 "store: each generation has one, and only while it lasts",
                 "[store]") {
  auto& a = agent({.restart_count_max = 1});
  auto& b = agent({.restart_count_max = 1});
  const auto first = await_world(4);
  CHECK(listeners_at(first[0].master_port) == words{loopback});
  order_exit(first[3].pid, 7);
  const auto second = await_world(4, first[0].generation);
  CHECK(second[0].master_port != first[0].master_port);
  CHECK(listeners_at(first[0].master_port).empty());
  CHECK(listeners_at(second[0].master_port) == words{loopback});
  order_end();
  CHECK(a.wait() == 0);
  CHECK(b.wait() == 0);
}

TEST_CASE_METHOD(scene, "store: it moves with rank 0", "[store]") {
  auto& host = coordinator({.nodes = "1:2"});
  REQUIRE(host.says("listens on"));
  auto agents = std::vector<program*>{};
  for (auto i = 0; i < 2; ++i)
    agents.push_back(&agent({.nodes = "1:2"}));
  const auto first = await_world(4);
  const auto first_agent = parent_of(first[0].pid);
  REQUIRE(first_agent > 1);
  ::kill(first_agent, SIGKILL);
  const auto second = await_world(2, first[0].generation);
  CHECK(second[0].master_port != first[0].master_port);
  CHECK(listeners_at(first[0].master_port).empty());
  CHECK(listeners_at(second[0].master_port) == words{loopback});
  order_end();
  for (auto* x : agents)
    x->wait();
}

TEST_CASE_METHOD(scene, "store: rank 0 finds the port free if it shall serve",
                 "[store]") {
  auto& node = agent({.nodes = "1", .more = {"--no-agent-store"}});
  const auto world = await_world(2);
  CHECK(listeners_at(world[0].master_port).empty());
  order_end();
  CHECK(node.wait() == 0);
}

} // namespace actorrun::test::store_test
