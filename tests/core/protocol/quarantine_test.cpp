#include "actors/core/protocol/quarantine.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::quarantine_test {

using namespace actorrun::core;

TEST_CASE("quarantine: an agent is recorded once", "[core]") {
  auto uut = quarantine{};
  CHECK_FALSE(uut.contains({"a"}));
  CHECK(uut.add({{"a"}, "node-a", 2}));
  CHECK_FALSE(uut.add({{"a"}, "node-a", 3}));
  CHECK(uut.contains({"a"}));
  CHECK(uut.list() == std::vector{quarantined_node{{"a"}, "node-a", 2}});
}

TEST_CASE("quarantine: a host that is well again has no entry left", "[core]") {
  auto uut = quarantine{};
  uut.add({{"a"}, "node-a", 1});
  uut.add({{"b"}, "node-b", 1});
  uut.add({{"a2"}, "node-a", 1});
  uut.clear("node-a");
  CHECK(uut.text() == "workers on node-b outlived SIGKILL");
  uut.clear("none");
  CHECK(uut.list().size() == 1);
}

TEST_CASE("quarantine: the newest are kept", "[core]") {
  auto uut = quarantine{};
  for (size_t i = 0; i < quarantined_nodes_max; ++i)
    uut.add({{std::to_string(i)}, "node", 1});
  CHECK(uut.contains({"0"}));
  uut.add({{"more"}, "node", 1});
  CHECK(uut.list().size() == quarantined_nodes_max);
  CHECK_FALSE(uut.contains({"0"}));
  CHECK(uut.list().back().agent == agent_id{"more"});
}

} // namespace actorrun::test::quarantine_test
