#include "actors/core/protocol/leader_change.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::leader_change_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

TEST_CASE("leader_change: each says in one clause what has happened",
          "[core]") {
  using kind = leader_change::kind;
  const auto n1 = agent_id{"n1-4711"};
  const auto told
    = [&](const leader_change& x) { return to_string(x, agent_id{"n2-4712"}); };
  CHECK(told({}) == "the job has begun with it");
  CHECK(told({kind::silent, n1, 400ms}) == "n1-4711 was silent for 400.0 ms");
  CHECK(told({kind::silent}) == "the last leader was silent");
  CHECK(
    to_string({kind::silent, n1}, n1)
    == "it led before, and had lost the majority of the voters for a while");
  CHECK(told({kind::ended, n1})
        == "the host of n1-4711 confirms that its process has ended");
  CHECK(told({kind::handed_over, n1, {}, "its node leaves the job"})
        == "n1-4711 has handed over: its node leaves the job");
  CHECK(told({kind::handed_over, n1}) == "n1-4711 has handed over");
  CHECK(told({kind::asked, n1, {}, "bob"})
        == "n1-4711 has handed over, as bob has asked");
  CHECK(told({kind::asked, n1})
        == "n1-4711 has handed over, as an operator has asked");
  CHECK(told({kind::expired})
        == "the lease of the last leader in etcd was over, or it had left");
  CHECK(told({kind::ordered, n1, {}, "bob"})
        == "n1-4711 and other voters are lost, as bob has said");
  CHECK(told({kind::ordered})
        == "the last leader and other voters are lost, as an operator has "
           "said");
  CHECK(told({static_cast<kind>(99)}) == "unknown");
  CHECK(to_string(leader_source::voters) == "voters");
  CHECK(to_string(leader_source::registry) == "etcd");
}

} // namespace actorrun::test::leader_change_test
