// Tests how a running job grows and shrinks.
#include "tests/support/rendezvous_fixture.hpp"

using namespace actorrun;
using namespace actorrun::test;

namespace {

/// Two to five agents; `a` and `b` run epoch 1 since 3 s.
struct fixture : rendezvous_fixture {
  fixture() : rendezvous_fixture{{2, 5, 1}} { run_two(); }

  void stop_all(milliseconds t, uint64_t epoch) {
    for (const auto* agent : {"a", "b"})
      at(t, stopped(agent, epoch));
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "rendezvous: a joiner becomes a member after a settle time",
                 "[core]") {
  CHECK(at(10s, join("c")) == "accept_agent c; arm_timer 5");
  CHECK(due(5) == 11s);
  CHECK(at(11s, fire(5)) == "revoke_epoch 1: a b");
  CHECK(last<revoke_epoch>().reason == "1 more joined");
  stop_all(11s, 1);
  CHECK(transcript(effects) == "announce_epoch 2: a=0+1 b=1+1 c=2+1");
  CHECK(uut.budget().restart_count() == 0);
}

TEST_CASE_METHOD(fixture, "rendezvous: a burst of joiners costs one regroup",
                 "[core]") {
  at(10'000ms, join("c"));
  CHECK(at(10'900ms, join("d")) == "accept_agent d");
  CHECK(at(11'000ms, fire(5)) == "arm_timer 6");
  CHECK(due(6) == 11'900ms);
  CHECK(at(11'900ms, fire(6)) == "revoke_epoch 1: a b");
  CHECK(last<revoke_epoch>().reason == "2 more joined");
  CHECK(at(11'900ms, fire(5)) == "");
}

TEST_CASE_METHOD(fixture, "rendezvous: joiners that fill the job do not wait",
                 "[core]") {
  at(10s, join("c"));
  at(10s, join("d"));
  CHECK(at(10s, join("e")) == "accept_agent e; revoke_epoch 1: a b");
  CHECK(last<revoke_epoch>().reason == "3 more joined");
  CHECK(at(11s, fire(5)) == "");
  stop_all(12s, 1);
  CHECK(transcript(effects)
        == "announce_epoch 2: a=0+1 b=1+1 c=2+1 d=3+1 e=4+1");
}

TEST_CASE_METHOD(
  rendezvous_fixture,
  "rendezvous: a trickle of joiners does not delay an epoch forever",
  "[core]") {
  auto x = rendezvous_fixture{{2, 99, 0}};
  x.run_two();
  x.at(10'000ms, x.join_here("c"));
  auto timer = uint64_t{5};
  auto t = milliseconds{10'000};
  for (int i = 0; x.uut.current_phase() == phase::running; ++i) {
    REQUIRE(i < 100);
    x.at(x.due(timer) - 1ms, x.join_here("c" + std::to_string(i)));
    t = x.due(timer);
    x.at(t, x.fire(timer));
    ++timer;
  }
  CHECK(t == 40s); // The last call, from the first of them.
}

TEST_CASE_METHOD(fixture, "rendezvous: a joiner that goes again is forgotten",
                 "[core]") {
  at(10s, join("c"));
  CHECK(at(10s, left("c")) == "forget_agent c");
  CHECK(at(11s, fire(5)) == "");
  CHECK(at(20s, join("d")) == "accept_agent d; arm_timer 6");
  CHECK(due(6) == 21s);
}

TEST_CASE_METHOD(fixture, "rendezvous: a joiner without a link is not counted",
                 "[core]") {
  at(10s, join("c"));
  CHECK(at(10s, disconnect("c")) == "probe_agent c");
  CHECK(at(11s, fire(5)) == "");
  CHECK(uut.current_phase() == phase::running);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: a job about to end gives no place to a joiner",
                 "[core]") {
  at(10s, succeeded("a", 1));
  CHECK(at(10s, join("c")) == "accept_agent c");
  CHECK(at(11s, succeeded("b", 1)) == "end_job succeeded: a b c; arm_timer 5");
}

TEST_CASE_METHOD(fixture, "rendezvous: success cancels a regroup", "[core]") {
  at(10s, join("c"));
  at(10s, succeeded("a", 1));
  CHECK(at(11s, fire(5)) == "");
  CHECK(uut.current_phase() == phase::running);
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: the epoch after a failure includes the joiners",
                 "[core]") {
  at(10s, join("c"));
  CHECK(at(10s, failed("a", 1)) == "revoke_epoch 1: a b");
  CHECK(at(11s, fire(5)) == "");
  stop_all(12s, 1);
  CHECK(transcript(effects) == "announce_epoch 2: a=0+1 b=1+1 c=2+1");
}

TEST_CASE_METHOD(rendezvous_fixture,
                 "rendezvous: a full job gives no place to a joiner",
                 "[core]") {
  run();
  CHECK(at(1s, join("d")) == "accept_agent d");
  CHECK(uut.current_phase() == phase::running);
}

TEST_CASE_METHOD(fixture, "rendezvous: a job shrinks to its minimum",
                 "[core]") {
  at(10s, join("c"));
  at(11s, fire(5));
  stop_all(11s, 1);
  CHECK(at(12s, left("a")) == "forget_agent a; revoke_epoch 2: b c");
  at(12s, stopped("b", 2));
  CHECK(at(12s, stopped("c", 2)) == "announce_epoch 3: b=0+1 c=1+1");
  CHECK(last<announce_epoch>().reason == "agent a left");
  CHECK(last<announce_epoch>().plans.front().master_address == "address-b");
}

TEST_CASE_METHOD(fixture, "rendezvous: below the minimum it waits for more",
                 "[core]") {
  CHECK(at(10s, left("b")) == "forget_agent b; revoke_epoch 1: a");
  CHECK(at(11s, stopped("a", 1)) == "arm_timer 5");
  CHECK(uut.current_phase() == phase::gathering);
  CHECK(due(5) == 611s);
  CHECK(at(20s, join("c")) == "accept_agent c; arm_timer 6; arm_timer 7");
  CHECK(due(7) == 21s); // The group has met before, so the wait is shorter.
  CHECK(at(21s, fire(7)) == "announce_epoch 2: a=0+1 c=1+1");
}

TEST_CASE_METHOD(fixture,
                 "rendezvous: below the minimum it does not wait forever",
                 "[core]") {
  at(10s, left("b"));
  at(11s, stopped("a", 1));
  CHECK(at(611s, fire(5)) == "end_job unmet: a; arm_timer 6");
}

TEST_CASE_METHOD(fixture, "rendezvous: no agent starts before all have stopped",
                 "[core]") {
  at(10s, disconnect("b"));
  at(10s, failed("a", 1));
  at(10s, join("c"));
  CHECK(at(10s, stopped("a", 1)) == ""); // b may still run its workers.
  CHECK(uut.current_phase() == phase::stopping);
  CHECK(at(11s, lose("b"))
        == "forget_agent b; explain_failures 1: a/0, exempt; "
           "announce_epoch 2: a=0+1 c=1+1");
}

TEST_CASE_METHOD(fixture, "rendezvous: all agents may be lost", "[core]") {
  at(10s, left("a"));
  CHECK(at(10s, left("b")) == "forget_agent b; arm_timer 5");
  CHECK(uut.current_phase() == phase::gathering);
  at(20s, join("c"));
  at(20s, join("d"));
  CHECK(uut.current_phase() == phase::last_call);
  CHECK(at(21s, fire(7)) == "announce_epoch 2: c=0+1 d=1+1");
}
