// Tests which class an end has that no worker's failure explains.
#include "actors/core/protocol/end_reason.hpp"
#include "tests/support/catch.hpp"

#include <csignal>

namespace actorrun::test::end_reason_test {

using namespace actorrun::core;

namespace {

const auto n2 = agent_id{"n2"};

std::string found(const end_reason& x) {
  return to_string(x.finding.what) + ": " + x.finding.evidence;
}

} // namespace

TEST_CASE("end_reason: a node that is lost, or out of touch", "[core]") {
  CHECK(found(agent_is_lost(n2, "silent for 1200 ms"))
        == "node: silent for 1200 ms");
  CHECK(found(agent_has_ended(n2)) == "node: its agent has ended");
  CHECK(found(agent_was_cut_off(n2, true))
        == "network: the node was out of touch");
  CHECK(found(node_is_unfit("node n2", "its check has failed"))
        == "node: its check has failed");
  CHECK(node_is_unfit("node n2", "its check has failed").text
        == "node n2 takes no part: its check has failed");
}

TEST_CASE("end_reason: a node that leaves", "[core]") {
  CHECK(found(agent_leaves(n2, SIGTERM, {}))
        == "preemption: its agent was sent SIGTERM");
  CHECK(found(agent_leaves(n2, 40, {}))
        == "preemption: its agent was sent signal 40");
  CHECK(found(agent_leaves(n2, SIGINT, {})) == "none: ");
  CHECK(found(agent_leaves(n2, 0, {"alice"})) == "none: ");
  CHECK(found(agent_leaves(n2, 0, {"the notice on n2", true}))
        == "preemption: the notice on n2");
  CHECK(found(agent_has_left(n2, {}))
        == "unknown: its agent has ended by itself");
  CHECK(found(agent_has_left(n2, {"the notice on n2", true}))
        == "preemption: the notice on n2");
}

TEST_CASE("end_reason: what an operator asks is no trouble, a notice is",
          "[core]") {
  CHECK(found(asked_for("restarted by alice", "alice")) == "none: ");
  CHECK(found(noticed("node n2 is to leave", "the notice on n2"))
        == "preemption: the notice on n2");
  CHECK(noticed("node n2 is to leave", "the notice on n2").origin->by
        == "the notice on n2");
}

} // namespace actorrun::test::end_reason_test
