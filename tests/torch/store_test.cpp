// torch's own client at the store that the agent serves.
#include "tests/support/catch.hpp"
#include "tests/torch/training_scene.hpp"

#include <regex>
#include <set>

namespace actorrun::test::store_test {

namespace {

std::set<std::string> ports_in(const std::string& text) {
  const auto pattern = std::regex{"reduced at port (\\d+)"};
  auto out = std::set<std::string>{};
  for (auto i = std::sregex_iterator{text.begin(), text.end(), pattern};
       i != std::sregex_iterator{}; ++i)
    out.insert((*i)[1]);
  return out;
}

struct store_scene : training_scene {
  /// Two nodes with two workers each.
  program& reduce(bool is_host, const words& more = {}) {
    auto command = words{"--nnodes=2",
                         "--nproc-per-node=2",
                         "--max-restarts=1",
                         "--rdzv-id=store",
                         "--rdzv-endpoint=" + endpoint(),
                         std::string{"--rdzv-conf=join_settle=300ms,is_host="}
                           + (is_host ? "1" : "0")};
    command.insert(command.end(), more.begin(), more.end());
    command.insert(command.end(), {STORE_SCRIPT, "all_reduce"});
    return run(std::move(command), variables());
  }
};

} // namespace

TEST_CASE_METHOD(store_scene, "store: torch's client gets what it asks for",
                 "[store]") {
  if (!has_torch())
    return;
  auto& node = run({"--nproc-per-node=2", STORE_SCRIPT, "client"}, variables());
  CHECK(node.wait(training_timeout) == 0);
  INFO(node.output());
  CHECK(count_of(node.output(), "all is well with torch") == 2);
  CHECK(count_of(node.output(), "cuts off") == 0);
}

TEST_CASE_METHOD(store_scene, "store: two nodes meet there, and meet again",
                 "[store]") {
  if (!has_torch())
    return;
  auto& a = reduce(true);
  auto& b = reduce(false);
  CHECK(a.wait(training_timeout) == 0);
  CHECK(b.wait(training_timeout) == 0);
  const auto output = a.output() + b.output();
  INFO(output);
  CHECK(count_of(output, ", restarts 1") == 4);
  CHECK(ports_in(output).size() == 1);
}

// torchrun's store is at the address of the command line.
TEST_CASE_METHOD(
  store_scene, "store: scripts may know it by the address of the command line",
  "[store]") {
  if (!has_torch())
    return;
  const auto node = [&](uint32_t rank) -> program& {
    return run({"--nnodes=2", "--nproc-per-node=2",
                "--node-rank=" + std::to_string(rank),
                "--master-addr=127.0.0.1",
                "--master-port=" + std::to_string(port()), STORE_SCRIPT,
                "reduce_at", "127.0.0.1", std::to_string(port())},
               variables());
  };
  auto& a = node(0);
  auto& b = node(1);
  CHECK(a.wait(training_timeout) == 0);
  CHECK(b.wait(training_timeout) == 0);
  const auto output = a.output() + b.output();
  INFO(output);
  CHECK(count_of(output, "reduced at the coordinator's port") == 4);
}

TEST_CASE_METHOD(store_scene, "store: rank 0 can serve the store itself",
                 "[store]") {
  if (!has_torch())
    return;
  auto& node = run(
    {"--nproc-per-node=2", "--no-agent-store", STORE_SCRIPT, "all_reduce"},
    variables());
  CHECK(node.wait(training_timeout) == 0);
  INFO(node.output());
  CHECK(count_of(node.output(), "reduced at port") == 2);
}

} // namespace actorrun::test::store_test
