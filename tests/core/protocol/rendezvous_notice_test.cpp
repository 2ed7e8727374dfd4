// Tests what becomes of a node whose machine is about to go.
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_notice_test {

namespace {

struct fixture : rendezvous_fixture {
  using rendezvous_fixture::rendezvous_fixture;

  static node_noticed noticed(const std::string& agent) {
    return {{agent}, "spot", 60s};
  }

  std::string answer(milliseconds t, const node_noticed& x) {
    at(t, x);
    return last<answer_operator>().text;
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "notice: a node is drained whose machine goes",
                 "[core]") {
  run();
  CHECK(at(0s, noticed("b"))
        == "notify_drain b; answer_operator done: node node-b leaves in 60.0 s"
           " at the latest, or when its workers have ended");
  CHECK(last<notify_drain>().reason
        == "asked for by the notice on node-b (\"spot\")");
  CHECK(last<notify_drain>().time == 60s);
  CHECK_FALSE(last<notify_drain>().stays);
  CHECK(last<answer_operator>().by == "the notice on node-b (\"spot\")");
  CHECK(last<answer_operator>().what == "drain b in 60.0 s");
  CHECK(uut.agents().at({"b"}).is_draining());
  CHECK(at(1s, noticed("b")) == ""); // It is repeated until something follows.
  CHECK(at(2s, leaving("b")) == "revoke_generation 1: a b c");
  CHECK(last<revoke_generation>().reason.text
        == "agent b leaves, as the notice on node-b (\"spot\") has asked");
  CHECK(at(3s, noticed("b")) == "");
}

TEST_CASE_METHOD(fixture, "notice: all come to a safe point before", "[core]") {
  run();
  for (const auto* agent : {"a", "b", "c"})
    at(0s, safe_point_reported{{agent}, {1}, {}});
  CHECK(at(1s, noticed("b")).find("hold of 1: a b c") != std::string::npos);
  CHECK(last<notify_drain>().at_safe_point);
  CHECK(last<send_safe_point_order>().reason
        == "node node-b is to leave, asked for by the notice on node-b"
           " (\"spot\")");
}

TEST_CASE_METHOD(fixture, "notice: it names the node that stands by",
                 "[core]") {
  run();
  at(0s, join("e"));
  at(0s, join("d"));
  CHECK(answer(1s, noticed("b"))
          .ends_with("; node node-e stands by to take its"
                     " place"));
  // Of a node that has none, none is taken.
  CHECK(answer(1s, noticed("d")) == "node node-d leaves; it has no workers");
}

TEST_CASE("notice: a machine goes also if the job needs it", "[core]") {
  auto x = fixture{{2, 2, 0}};
  x.at(0s, x.join("a"));
  x.at(0s, x.join("b"));
  CHECK(x.answer(1s, x.noticed("b"))
          .ends_with("; without it fewer nodes are left than the job needs,"
                     " which is 2, so the job waits for another one"));
  CHECK(x.uut.agents().at({"b"}).is_draining());
}

TEST_CASE("notice: a drain that waits for a replacement waits no longer",
          "[core]") {
  auto x = fixture{{2, 2, 0}};
  x.at(0s, x.join("a"));
  x.at(0s, x.join("b"));
  x.at(0s, drain_requested{"b", 60s, true, "alice"});
  REQUIRE(x.uut.waiting_drains().size() == 1);
  x.at(1s, x.noticed("b"));
  CHECK(x.uut.agents().at({"b"}).is_draining());
  CHECK(x.uut.waiting_drains().empty());
}

TEST_CASE("notice: without the coordinator's node there is no job, so all save",
          "[core]") {
  auto x = fixture{{1, 3, 0}};
  x.at(0s, x.join_here("a"));
  x.at(0s, x.join("b"));
  x.at(0s, x.join("c"));
  x.at(1s, x.join("d")); // It has no workers.
  x.at(1s, x.disconnect("c"));
  CHECK(x.at(1s, x.noticed("a"))
        == "notify_drain a, which stays; notify_drain b, which stays; "
           "answer_operator done: node node-a hosts the coordinator, which no"
           " other node can: the job goes on until that machine is gone, and"
           " all workers are to save before");
  CHECK(x.last<notify_drain>().time == 60s);
  CHECK(x.last<notify_drain>().reason
        == "asked for by the notice on node-a (\"spot\")");
  CHECK(x.last<answer_operator>().what == "save in 60.0 s");
  CHECK_FALSE(x.uut.agents().at({"a"}).drain);
}

TEST_CASE_METHOD(fixture, "notice: what comes too early or too late is left",
                 "[core]") {
  CHECK(at(0s, noticed("a")) == "");
  SECTION("the job has ended") {
    run();
    at(0s, stop_requested{15});
    CHECK(at(1s, noticed("a")) == "");
  }
  SECTION("an earlier coordinator's agents are awaited") {
    at(0s, coordinator_started{true});
    at(0s, join("a"));
    CHECK(at(0s, noticed("a")) == "");
  }
}

TEST_CASE_METHOD(fixture, "notice: one without words names the node",
                 "[core]") {
  run();
  auto x = noticed("b");
  x.words.clear();
  at(0s, x);
  CHECK(last<answer_operator>().by == "the notice on node-b");
}

} // namespace actorrun::test::rendezvous_notice_test
