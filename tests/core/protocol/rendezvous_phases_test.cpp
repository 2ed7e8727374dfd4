// Tests every event in every phase, and the text of phases.
#include "tests/support/rendezvous_fixture.hpp"

namespace actorrun::test::rendezvous_phases_test {

using fixture = rendezvous_fixture;
using phase = rendezvous::phase;

namespace {

/// `a` has joined; in `last_call` also `b`, later also `c`.
struct in_phase : fixture {
  explicit in_phase(phase x) {
    switch (x) {
      case phase::gathering:
        at(0s, join("a"));
        break;
      case phase::last_call:
        at(0s, join("a"));
        at(0s, join("b"));
        break;
      case phase::starting:
        start();
        break;
      case phase::running:
        run();
        break;
      case phase::stopping:
        revoke();
        break;
      case phase::ended:
        run();
        at(0s, stop_requested{15});
        break;
    }
    REQUIRE(uut.current_phase() == x);
  }
};

struct row {
  const char* name;
  rendezvous_event event;
  // gathering, last_call, starting, running, stopping, ended
  std::vector<std::string> answers;
};

std::vector<std::string> always(const std::string& answer) {
  return {6, answer};
}

void check(const std::vector<row>& rows) {
  for (const auto& x : rows) {
    REQUIRE(x.answers.size() == 6);
    for (size_t i = 0; i < x.answers.size(); ++i) {
      auto job = in_phase(phase(i));
      CAPTURE(x.name, to_string(phase(i)));
      CHECK(job.at(1s, x.event) == x.answers[i]);
    }
  }
}

const auto revoked = std::string{"revoke_generation 1: a b c"};
const auto others_revoked = std::string{"revoke_generation 1: b c"};

} // namespace

TEST_CASE("rendezvous: every event of an agent has its answer in every phase",
          "[core]") {
  const auto job = fixture{};
  const auto again
    = std::string{"accept_agent a; announce_generation 1: a=0+1"};
  const auto gone = "forget_agent a; " + others_revoked;
  check({
    {"coordinator started", coordinator_started{false}, always("")},
    {"newcomer",
     job.join("d"),
     {"accept_agent d; arm_timer 3; arm_timer 4",
      "accept_agent d; announce_generation 1: a=0+1 b=1+1 d=2+1",
      "accept_agent d", "accept_agent d", "accept_agent d",
      "accept_agent d; end_job stopped: d"}},
    {"joins again",
     job.join("a"),
     {"accept_agent a", "accept_agent a", again, again,
      "accept_agent a; revoke_generation 1: a",
      "accept_agent a; end_job stopped: a"}},
    {"too many slots", job.join("d", 4097),
     always("reject_agent d: bad_slot_count")},
    {"heard", job.heard(0s, "a"), always("")},
    {"unknown agent heard", job.heard(0s, "x"), always("")},
    {"disconnected",
     job.disconnect("a"),
     {"probe_agent a", "probe_agent a; arm_timer 5", "probe_agent a",
      "probe_agent a", "probe_agent a", "probe_agent a"}},
    {"unknown agent disconnected", job.disconnect("x"), always("")},
    {"lost though connected", job.lose("a"), always("")},
    {"leaving",
     job.leaving("a"),
     {"", "arm_timer 5", revoked, revoked, "", ""}},
    {"unknown agent leaving", job.leaving("x"), always("")},
    {"left",
     job.left("a"),
     {"forget_agent a", "forget_agent a; arm_timer 5", gone, gone,
      "forget_agent a", "forget_agent a"}},
    {"unknown agent left", job.left("x"), always("")},
  });
}

TEST_CASE("rendezvous: every event of workers has its answer in every phase",
          "[core]") {
  const auto job = fixture{};
  check({
    {"started", job.started("a", 1), always("")},
    {"failed", job.failed("a", 1), {"", "", revoked, revoked, "", ""}},
    {"succeeded", job.succeeded("a", 1), always("")},
    {"stopped",
     job.stopped("a", 1),
     {"", "", others_revoked, others_revoked, "", ""}},
    {"old started", job.started("a", 0), always("")},
    {"old failed", job.failed("a", 0), always("")},
    {"old succeeded", job.succeeded("a", 0), always("")},
    {"old stopped", job.stopped("a", 0), always("")},
    {"unknown agent started", job.started("x", 1), always("")},
    {"unknown agent failed", job.failed("x", 1), always("")},
    {"unknown agent succeeded", job.succeeded("x", 1), always("")},
    {"unknown agent stopped", job.stopped("x", 1), always("")},
  });
}

TEST_CASE("rendezvous: every timer has its answer in every phase", "[core]") {
  const auto job = fixture{};
  const auto ended = [](const std::string& agents) {
    return "end_job stopped: " + agents + "; arm_timer 5";
  };
  check({
    {"stop",
     stop_requested{2},
     {"end_job stopped: a; arm_timer 3", ended("a b"), ended("a b c"),
      ended("a b c"), ended("a b c"), ""}},
    {"join",
     job.fire(1),
     {"end_job unmet: a; arm_timer 3", "", "", "", "", ""}},
    {"lease, early",
     job.fire(2),
     {"arm_timer 3", "arm_timer 5", "arm_timer 5", "arm_timer 5", "arm_timer 5",
      "arm_timer 6"}},
    {"last call",
     job.fire(3),
     {"", "announce_generation 1: a=0+1 b=1+1", "", "", "", ""}},
    {"quiet, early", job.fire(4), {"", "arm_timer 5", "", "", "", ""}},
    {"close", job.fire(5), {"", "", "", "", "", "arm_timer 6"}},
    {"none", job.fire(0), always("")},
    {"never armed", job.fire(99), always("")},
  });
}

// -- as text ------------------------------------------------------------------

TEST_CASE("rendezvous: phases have their names as text", "[core]") {
  CHECK(to_string(phase::gathering) == "gathering");
  CHECK(to_string(phase::last_call) == "last_call");
  CHECK(to_string(phase::starting) == "starting");
  CHECK(to_string(phase::running) == "running");
  CHECK(to_string(phase::stopping) == "stopping");
  CHECK(to_string(phase::ended) == "ended");
  CHECK(to_string(phase{99}) == "unknown");
}

TEST_CASE("rendezvous: it can say what it waits for in every phase", "[core]") {
  struct row {
    phase when;
    std::string text;
  };
  const row rows[] = {
    {phase::gathering, "waiting for 1 more node: 1 of 2:3 nodes are here"},
    {phase::last_call, "last call for more nodes: 2 of 2:3 nodes are here"},
    {phase::starting, "3 nodes start their workers of generation 1"},
    {phase::running, ""},
    {phase::stopping, "3 nodes stop their workers of generation 1 (rank 1 "
                      "(local rank 0, pid "
                      "4711) on node-b exited with code 7)"},
    {phase::ended, ""},
  };
  for (const auto& x : rows)
    CHECK(in_phase(x.when).uut.waiting_for() == x.text);
}

TEST_CASE("rendezvous: it counts nodes and agents as people do", "[core]") {
  auto job = fixture{{3, 3, 0}};
  CHECK(job.uut.waiting_for()
        == "waiting for 3 more nodes: 0 of 3 nodes are here");
  job.at(0s, job.join("a"));
  job.at(0s, job.join("b"));
  CHECK(job.uut.waiting_for()
        == "waiting for 1 more node: 2 of 3 nodes are here");
  job.at(0s, job.join("c"));
  job.at(0s, job.started("a", 1));
  job.at(0s, job.started("b", 1));
  CHECK(job.uut.waiting_for() == "1 node starts its workers of generation 1");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: it reports old workers that delay the generation",
                 "[core]") {
  run_two();
  at(4s, left("a"));
  at(4s, left("b"));
  auto plan = announced;
  plan.generation = {9};
  plan.own.agent = {"d"};
  CHECK(at(5s, rejoin("d", plan, share_state::running))
        == "accept_agent d; revoke_generation 9: d");
  CHECK(at(5s, join("e")) == "accept_agent e");
  CHECK(uut.waiting_for() == "1 node stops its workers of an older generation");
  at(6s, stopped("d", 9));
  CHECK(uut.current_phase() == phase::last_call);
}

TEST_CASE_METHOD(fixture, "rendezvous: a standby learns why it stands by",
                 "[core]") {
  CHECK(uut.waiting_for({"d"}) == uut.waiting_for());
  run();
  at(1s, join("d"));
  CHECK(uut.waiting_for({"a"}) == "");
  CHECK(uut.waiting_for({"x"}) == uut.waiting_for({"d"})); // Not here yet.
  CHECK(uut.waiting_for({"d"}) == "this one stands by: the maximum is 3 nodes");
  at(2s, failed("a", 1));
  CHECK(uut.waiting_for({"d"}) == uut.waiting_for());
}

TEST_CASE("rendezvous: a joiner learns when it can become a member", "[core]") {
  auto job = fixture{{2, 4, 0}};
  job.run_two();
  job.at(4s, job.join("c"));
  CHECK(
    job.uut.waiting_for({"c"})
    == "generation 1 runs with 2 nodes; the job starts again with this one in "
       "a moment");
  job.at(4s, job.succeeded("a", 1));
  CHECK(
    job.uut.waiting_for({"c"})
    == "generation 1 runs with 2 nodes and is about to end; this one stands "
       "by");
}

} // namespace actorrun::test::rendezvous_phases_test
