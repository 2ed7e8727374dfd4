// Tests how a leadership is kept and ended, and candidates that always campaign.
#include "tests/support/leadership_fixture.hpp"

namespace actorrun::test::leadership_term_test {

namespace {

using fixture = leadership_fixture;
using phase = leadership::phase;

struct candidate : leadership_fixture {
  candidate() : leadership_fixture(true, true) {}
};

} // namespace

// -- keeping it ---------------------------------------------------------------

TEST_CASE_METHOD(fixture, "leadership: a renewed lease prolongs the leadership",
                 "[core]") {
  lead();
  CHECK(at(5s, fired()) == "renew_lease 7");
  CHECK(at(5010ms, renewed(5s)) == "set_leadership_end 19700; read_entry");
  CHECK(at(5020ms, entry(3, "n1:4000")) == "arm_timer 2");
  CHECK(armed.due == time_point{10s});
}

TEST_CASE_METHOD(fixture,
                 "leadership: an agent that looks meanwhile gets the answer at "
                 "once",
                 "[core]") {
  lead();
  at(5s, fired());
  CHECK(at(5s, coordinator_wanted{}) == "report_here");
  at(5s, renewed(5s));
  CHECK(at(5s, coordinator_wanted{}) == "report_here");
}

TEST_CASE_METHOD(fixture,
                 "leadership: a candidate that cannot renew its lease leaves "
                 "before it can end",
                 "[core]") {
  lead();
  at(5s, fired());
  CHECK(at(10s, away()) == "log_registry away; arm_timer 2");
  CHECK(armed.due == time_point{11s});
  CHECK(at(11s, fired()) == "renew_lease 7");
  CHECK(at(14s, away()) == "arm_timer 3");
  CHECK(armed.due == time_point{14'700ms});
  CHECK(at(14'700ms, fired())
        == "set_leadership_end now; "
           "close_coordinator: its lease in etcd could not be renewed");
  CHECK_FALSE(uut.is_leader());
}

TEST_CASE_METHOD(fixture, "leadership: the return of etcd in time is logged",
                 "[core]") {
  lead();
  at(5s, fired());
  at(10s, away());
  at(11s, fired());
  CHECK(at(11s, renewed(11s)) == "set_leadership_end 25700; read_entry");
  CHECK(at(11s, entry(3, "n1:4000")) == "log_registry back; arm_timer 3");
  CHECK(armed.due == time_point{16s});
}

TEST_CASE_METHOD(fixture,
                 "leadership: a renewal that arrives after the end is too late",
                 "[core]") {
  lead();
  at(14s, fired());
  SECTION("one instant before the end") {
    CHECK(at(14'699ms, renewed(14s)) == "set_leadership_end 28700; read_entry");
  }
  SECTION("at the end") {
    CHECK(at(14'700ms, renewed(14s))
          == "set_leadership_end now; "
             "close_coordinator: its lease in etcd could not be renewed; "
             "end_lease 7");
  }
}

TEST_CASE_METHOD(fixture,
                 "leadership: the next renewal follows the length that etcd "
                 "has given the lease",
                 "[core]") {
  lead();
  at(5s, fired());
  at(5s, lease_renewed{30s, time_point{5s}});
  at(5s, entry(3, "n1:4000"));
  CHECK(armed.due == time_point{15s});
}

TEST_CASE_METHOD(fixture,
                 "leadership: what was answered is not answered again at the "
                 "end",
                 "[core]") {
  lead();
  REQUIRE(at(1s, coordinator_wanted{}) == "report_here");
  at(5s, fired());
  CHECK(
    at(5s, lease_ended{})
    == "set_leadership_end now; close_coordinator: its lease in etcd is over");
}

TEST_CASE_METHOD(
  fixture, "leadership: a lease that etcd no longer knows ends the leadership",
  "[core]") {
  lead();
  at(5s, fired());
  CHECK(
    at(5s, lease_ended{})
    == "set_leadership_end now; close_coordinator: its lease in etcd is over");
  CHECK(at(6s, fired()) == ""); // No agent looks for a coordinator.
  CHECK(at(6s, coordinator_wanted{}) == "read_entry");
}

TEST_CASE_METHOD(
  fixture, "leadership: an entry of another, or none, ends the leadership",
  "[core]") {
  lead();
  at(5s, fired());
  at(5s, renewed(5s));
  SECTION("an entry of another") {
    CHECK(at(5s, entry(9, "n2:4000"))
          == "set_leadership_end now; "
             "close_coordinator: etcd names another coordinator; end_lease 7");
  }
  SECTION("no entry") {
    CHECK(at(5s, entry_read{})
          == "set_leadership_end now; "
             "close_coordinator: etcd has lost its entry; end_lease 7");
  }
  CHECK_FALSE(uut.is_leader());
}

TEST_CASE_METHOD(fixture,
                 "leadership: old timers and late answers are "
                 "ignored",
                 "[core]") {
  CHECK(at(0s, timer_fired{}) == "");
  lead();
  CHECK(at(1s, timer_fired{{99}}) == "");
  const auto first = fired();
  at(5s, first);
  at(5s, renewed(5s));
  at(5s, entry(3, "n1:4000"));
  CHECK(at(6s, first) == "");
  for (const auto& late : std::vector<leadership_event>{
         entry_read{}, lease(8), campaign_won{9, 1}, campaign_lost{},
         coordinator_opened{"x:1"}, coordinator_not_opened{},
         leadership_published{9}, leadership_lost{}, renewed(6s), lease_ended{},
         away(), endpoint_reached{}, gone(), endpoint_failed{}})
    CHECK(at(6s, late) == "");
  CHECK(uut.current_phase() == phase::leading);
}

TEST_CASE_METHOD(fixture,
                 "leadership: a candidate that has known a coordinator is a "
                 "successor, even if etcd has forgotten it",
                 "[core]") {
  SECTION("as its agent") {
    follow();
  }
  SECTION("as its host") {
    lead();
    at(5s, fired());
    at(5s, lease_ended{});
  }
  at(6s, coordinator_wanted{});
  CHECK(at(6s, entry_read{}) == "open_lease");
  at(6s, lease(8, 6s));
  CHECK(at(6s, campaign_won{2, 0})
        == "set_leadership_end 20700; open_coordinator as successor");
}

// -- leaving it ---------------------------------------------------------------

TEST_CASE_METHOD(fixture,
                 "leadership: a candidate that resigns ends its lease, so that "
                 "another can follow at once",
                 "[core]") {
  lead();
  CHECK(
    at(1s, resign_requested{})
    == "set_leadership_end now; close_coordinator: this node leaves the job; "
       "end_lease 7");
  CHECK(uut.current_phase() == phase::retired);
  CHECK(at(2s, fired()) == "");
  CHECK(at(2s, coordinator_wanted{}) == "report_missing connection_failed");
  CHECK(at(2s, resign_requested{}) == "");
}

TEST_CASE("leadership: whoever has the entry, or may have it, closes its "
          "coordinator when it resigns",
          "[core]") {
  const auto resigns = [](auto... steps) {
    auto x = fixture{};
    x.win();
    (x.at(0s, steps), ...);
    return x.at(0s, resign_requested{});
  };
  const auto renewal = timer_fired{{1}};
  const auto answer = lease_renewed{15s, time_point{}};
  const auto opened = coordinator_opened{"n1:4000"};
  const auto published = leadership_published{3};
  const auto closes = std::string{"set_leadership_end now; close_coordinator: "
                                  "this node leaves the job; end_lease 7"};
  CHECK(resigns() == closes + "; report_missing connection_failed");
  CHECK(resigns(opened) == closes + "; report_missing connection_failed");
  CHECK(resigns(opened, published) == closes);
  CHECK(resigns(opened, published, renewal) == closes);
  CHECK(resigns(opened, published, renewal, answer) == closes);
}

TEST_CASE_METHOD(fixture,
                 "leadership: a node without an entry has nothing to give up",
                 "[core]") {
  SECTION("an agent of another's job") {
    follow();
  }
  SECTION("one that has lost its lease") {
    lead();
    at(5s, fired());
    at(5s, lease_ended{});
  }
  SECTION("one that came second") {
    campaign();
    at(0s, campaign_lost{leader_entry{5, "n2:4000"}});
    at(0s, endpoint_reached{});
  }
  CHECK(at(6s, resign_requested{}) == "");
}

TEST_CASE_METHOD(fixture, "leadership: a finished job leaves no entry",
                 "[core]") {
  lead();
  CHECK(at(1s, resign_requested{true})
        == "set_leadership_end now; close_coordinator: the job is over; "
           "end_lease 7 and job");
}

TEST_CASE_METHOD(
  fixture, "leadership: a candidate that resigns while it waits reports so",
  "[core]") {
  campaign();
  CHECK(at(0s, resign_requested{})
        == "end_lease 7; report_missing connection_failed");
}

// -- a candidate that always campaigns ----------------------------------------

TEST_CASE_METHOD(
  candidate, "leadership: a candidate may campaign without an agent's request",
  "[core]") {
  CHECK(at(0s, candidate_started{}) == "read_entry");
  CHECK(at(0s, entry_read{}) == "open_lease");
  at(0s, lease(7));
  at(0s, campaign_won{2, 0});
  at(0s, coordinator_opened{"n1:4000"});
  CHECK(at(0s, leadership_published{3}) == "arm_timer 1");
}

TEST_CASE_METHOD(candidate,
                 "leadership: a constant candidate tries again while another "
                 "is the leader or etcd is away",
                 "[core]") {
  at(0s, candidate_started{});
  CHECK(at(0s, entry(5, "n2:4000")) == "arm_timer 1");
  CHECK(armed.due == time_point{1s});
  CHECK(at(1s, fired()) == "read_entry");
  CHECK(at(1s, away()) == "log_registry away; arm_timer 2");
  CHECK(at(2s, fired()) == "read_entry");
  CHECK(at(2s, entry_read{}) == "log_registry back; open_lease");
}

TEST_CASE_METHOD(candidate,
                 "leadership: a constant candidate says where the leader is",
                 "[core]") {
  at(0s, coordinator_wanted{});
  CHECK(at(0s, entry(5, "n2:4000"))
        == "report_missing connection_failed; arm_timer 1");
  CHECK(missing == "the coordinator is at n2:4000");
}

TEST_CASE_METHOD(candidate,
                 "leadership: a constant candidate that has resigned campaigns "
                 "no more",
                 "[core]") {
  lead();
  CHECK(
    at(1s, resign_requested{})
    == "set_leadership_end now; close_coordinator: this node leaves the job; "
       "end_lease 7");
  CHECK(at(1s, candidate_started{}) == "");
  CHECK(at(2s, fired()) == "");
}

TEST_CASE_METHOD(candidate, "leadership: an unarmed timer begins no campaign",
                 "[core]") {
  CHECK(at(0s, timer_fired{}) == "");
}

TEST_CASE_METHOD(candidate,
                 "leadership: a constant candidate that has lost the "
                 "leadership campaigns again",
                 "[core]") {
  lead();
  at(5s, fired());
  CHECK(
    at(5s, lease_ended{})
    == "set_leadership_end now; close_coordinator: its lease in etcd is over; "
       "arm_timer 2");
  CHECK(at(6s, fired()) == "read_entry");
}

TEST_CASE("leadership: phases have names", "[core]") {
  CHECK(to_string(phase::idle) == "idle");
  CHECK(to_string(phase::opening_lease) == "opening_lease");
  CHECK(to_string(phase::retired) == "retired");
  CHECK(to_string(phase{99}) == "unknown");
}

} // namespace actorrun::test::leadership_term_test
