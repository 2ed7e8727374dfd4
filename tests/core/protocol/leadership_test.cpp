// Tests how a coordinator is found, and how one is elected.
#include "tests/support/leadership_fixture.hpp"

#include <set>

namespace actorrun::test::leadership_test {

namespace {

using fixture = leadership_fixture;

struct bystander : leadership_fixture {
  bystander() : leadership_fixture(false) {}
};

} // namespace

// -- becoming the leader -----------------------------------------------------

TEST_CASE_METHOD(fixture, "leadership: etcd is not asked before an agent looks",
                 "[core]") {
  CHECK(at(0s, candidate_started{}) == "");
  CHECK(uut.current_phase() == phase::idle);
  CHECK_FALSE(uut.is_leader());
}

TEST_CASE_METHOD(fixture,
                 "leadership: where there is no leader a candidate becomes it, "
                 "publishes its address and answers its agent",
                 "[core]") {
  CHECK(at(0s, coordinator_wanted{}) == "read_entry");
  CHECK(at(10ms, entry_read{}) == "open_lease");
  CHECK(at(20ms, lease(7, 10ms)) == "campaign 7 over 0 and 0");
  CHECK(at(30ms, campaign_won{2, 0})
        == "set_leadership_end 14710; open_coordinator");
  CHECK(last<open_coordinator>().change.what == leader_change::kind::began);
  CHECK(uut.is_leader());
  CHECK(at(40ms, coordinator_opened{"n1:4000"}) == "publish n1:4000 at 2");
  CHECK(at(50ms, leadership_published{3}) == "arm_timer 1; report_here");
  CHECK(armed.due == time_point{5010ms});
  CHECK(at(60ms, coordinator_wanted{}) == "report_here");
}

TEST_CASE_METHOD(fixture,
                 "leadership: a candidate that follows another leader holds "
                 "back as a successor",
                 "[core]") {
  campaign();
  CHECK(at(0s, campaign_won{2, 3})
        == "set_leadership_end 14700; open_coordinator as successor, terms "
           "before: 3");
  CHECK(last<open_coordinator>().change.what == leader_change::kind::expired);
}

TEST_CASE_METHOD(fixture,
                 "leadership: a candidate that comes second goes to the first",
                 "[core]") {
  campaign();
  CHECK(at(0s, campaign_lost{leader_entry{5, "n2:4000"}})
        == "end_lease 7; try_endpoint n2:4000");
}

TEST_CASE_METHOD(fixture,
                 "leadership: a candidate that has just been elected is no "
                 "proof that there is no leader",
                 "[core]") {
  at(0s, coordinator_wanted{});
  CHECK(at(0s, entry(5, "")) == "report_missing connection_failed");
  campaign();
  CHECK(at(0s, campaign_lost{leader_entry{6, ""}})
        == "end_lease 7; report_missing connection_failed");
}

TEST_CASE_METHOD(fixture,
                 "leadership: a lease that has expired when it arrives is "
                 "not used",
                 "[core]") {
  stand();
  SECTION("one instant before its end") {
    CHECK(at(14'699ms, lease(7)) == "campaign 7 over 0 and 0");
  }
  SECTION("at its end") {
    CHECK(at(14'700ms, lease(7))
          == "end_lease 7; report_missing connection_failed");
  }
}

TEST_CASE_METHOD(fixture,
                 "leadership: a victory that comes too late does not count",
                 "[core]") {
  campaign();
  CHECK(
    at(14'700ms, campaign_won{2, 0})
    == "set_leadership_end now; close_coordinator: etcd answers too slowly; "
       "end_lease 7; report_missing connection_failed");
  CHECK_FALSE(uut.is_leader());
}

TEST_CASE_METHOD(
  fixture,
  "leadership: a coordinator that cannot listen gives the leadership back",
  "[core]") {
  win();
  CHECK(at(0s, coordinator_not_opened{{errc::cannot_listen, "no port"}})
        == "set_leadership_end now; end_lease 7; report_missing cannot_listen");
}

TEST_CASE_METHOD(fixture,
                 "leadership: an entry that is taken before it is published "
                 "ends the leadership",
                 "[core]") {
  open();
  CHECK(
    at(0s, leadership_lost{})
    == "set_leadership_end now; close_coordinator: another has taken it over; "
       "end_lease 7; report_missing connection_failed");
  CHECK(missing
        == "this node's coordinator is no longer the leader: another has taken "
           "it over");
}

TEST_CASE_METHOD(bystander,
                 "leadership: a node that does not campaign waits for a leader",
                 "[core]") {
  at(0s, coordinator_wanted{});
  CHECK(at(0s, entry_read{}) == "report_missing connection_failed");
  follow();
  seek(1s);
  CHECK(at(1s, gone()) == "report_missing coordinator_gone");
}

// -- finding it ---------------------------------------------------------------

TEST_CASE_METHOD(fixture, "leadership: an agent is sent to the leader",
                 "[core]") {
  CHECK(seek() == "try_endpoint n2:4000");
  CHECK(at(0s, endpoint_reached{}) == "");
  CHECK(uut.current_phase() == phase::idle);
}

TEST_CASE_METHOD(fixture,
                 "leadership: where the agent was never accepted, the end of "
                 "a coordinator proves nothing",
                 "[core]") {
  seek();
  CHECK(at(0s, gone()) == "report_missing connection_failed");
}

TEST_CASE_METHOD(fixture,
                 "leadership: an entry is taken over at once when its owner "
                 "is proved to have ended",
                 "[core]") {
  follow();
  seek(1s);
  CHECK(at(1s, gone()) == "open_lease");
  CHECK(at(1s, lease(7, 1s)) == "campaign 7 over 5 and 0");
  CHECK(at(1s, campaign_won{6, 0})
        == "set_leadership_end 15700; open_coordinator as successor");
}

TEST_CASE_METHOD(fixture,
                 "leadership: a new entry at the old address is of another "
                 "leader",
                 "[core]") {
  follow();
  at(1s, coordinator_wanted{});
  at(1s, entry(6, "n2:4000"));
  CHECK(at(1s, gone()) == "report_missing connection_failed");
}

TEST_CASE_METHOD(fixture,
                 "leadership: every other failure to connect is reported "
                 "unchanged",
                 "[core]") {
  follow();
  seek(1s);
  CHECK(at(1s, endpoint_failed{{errc::secret_mismatch, "no"}})
        == "report_missing secret_mismatch");
}

TEST_CASE_METHOD(fixture,
                 "leadership: an agent that looks again interrupts a "
                 "connection, and nothing else",
                 "[core]") {
  SECTION("reading") {
    at(0s, coordinator_wanted{});
    CHECK(at(0s, coordinator_wanted{}) == "");
  }
  SECTION("opening a lease") {
    stand();
    CHECK(at(0s, coordinator_wanted{}) == "");
  }
  SECTION("connecting") {
    seek();
    CHECK(at(0s, coordinator_wanted{}) == "read_entry");
  }
}

// -- etcd away ----------------------------------------------------------------

TEST_CASE_METHOD(fixture,
                 "leadership: without etcd a new agent finds no coordinator",
                 "[core]") {
  at(0s, coordinator_wanted{});
  CHECK(at(0s, away()) == "report_missing etcd_unreachable");
}

TEST_CASE_METHOD(fixture,
                 "leadership: without etcd an agent tries where it was last "
                 "accepted, and the end of that coordinator proves nothing",
                 "[core]") {
  follow();
  at(1s, coordinator_wanted{});
  CHECK(at(1s, away()) == "log_registry away; try_endpoint n2:4000");
  CHECK(at(1s, gone()) == "report_missing etcd_unreachable");
  at(2s, coordinator_wanted{});
  CHECK(at(2s, away()) == "try_endpoint n2:4000");
  CHECK(at(2s, endpoint_failed{{errc::connection_timed_out, ""}})
        == "report_missing etcd_unreachable");
  at(3s, coordinator_wanted{});
  at(3s, away());
  CHECK(at(3s, endpoint_reached{}) == "");
  at(4s, coordinator_wanted{});
  CHECK(at(4s, entry(5, "n2:4000"))
        == "log_registry back; try_endpoint n2:4000");
}

TEST_CASE_METHOD(fixture,
                 "leadership: once etcd is back it counts again, as if it had "
                 "never been away",
                 "[core]") {
  follow();
  at(1s, coordinator_wanted{});
  at(1s, away());
  at(1s, endpoint_reached{});
  seek(2s);
  CHECK(at(2s, gone()) == "open_lease");
}

TEST_CASE_METHOD(fixture,
                 "leadership: without etcd an agent tries where it was "
                 "accepted, not where it was refused since",
                 "[core]") {
  follow();
  at(1s, coordinator_wanted{});
  at(1s, entry(6, "n3:4000"));
  at(1s, endpoint_failed{{errc::connection_refused, ""}});
  at(2s, coordinator_wanted{});
  CHECK(at(2s, away()) == "log_registry away; try_endpoint n2:4000");
}

TEST_CASE_METHOD(fixture,
                 "leadership: one that has led tries no older coordinator",
                 "[core]") {
  follow();
  seek(1s);
  at(1s, gone());
  at(1s, lease(7, 1s));
  at(1s, campaign_won{6, 0});
  at(1s, coordinator_opened{"n1:4000"});
  at(1s, leadership_published{7});
  at(6s, fired());
  at(6s, lease_ended{});
  at(7s, coordinator_wanted{});
  CHECK(at(7s, away()) == "report_missing etcd_unreachable");
}

TEST_CASE_METHOD(fixture, "leadership: without etcd there is no election",
                 "[core]") {
  stand();
  SECTION("no lease") {
    CHECK(at(0s, away()) == "report_missing etcd_unreachable");
  }
  SECTION("no answer to the campaign, which may have been won") {
    at(0s, lease(7));
    CHECK(at(0s, away()) == "end_lease 7; report_missing etcd_unreachable");
  }
  SECTION("the address cannot be published") {
    at(0s, lease(7));
    at(0s, campaign_won{2, 0});
    at(0s, coordinator_opened{"n1:4000"});
    CHECK(
      at(0s, away())
      == "set_leadership_end now; close_coordinator: etcd: no answer in time; "
         "end_lease 7; report_missing connection_failed");
  }
  CHECK(uut.current_phase() == phase::idle);
}

TEST_CASE_METHOD(fixture, "leadership: a timer is taken once", "[core]") {
  lead();
  CHECK(at(10s, fired()) == "renew_lease 7");
  CHECK(at(10s, fired()).empty());
}

TEST_CASE("leadership: each phase has a name", "[core]") {
  using phase = leadership::phase;
  auto names = std::set<std::string>{};
  for (auto i = 0; i <= int(phase::retired); ++i)
    names.insert(to_string(phase(i)));
  CHECK(names.size() == size_t(phase::retired) + 1);
  CHECK_FALSE(names.contains("unknown"));
}

// -- the end of the job --------------------------------------------------------

TEST_CASE_METHOD(
  fixture,
  "leadership: a member that was away when the job ended runs it "
  "no more",
  "[core]") {
  follow();
  CHECK(at(9s, coordinator_wanted{true}) == "read_entry");
  CHECK(at(9s, entry_read{{}, {8, true}}) == "report_missing job_over");
  CHECK(missing == "the job has ended while this node was away");
  CHECK(uut.current_phase() == phase::idle);
}

TEST_CASE_METHOD(bystander,
                 "leadership: a member that can host no coordinator learns of "
                 "the end, too",
                 "[core]") {
  at(0s, coordinator_wanted{true});
  CHECK(at(0s, entry_read{{}, {8, true}}) == "report_missing job_over");
}

TEST_CASE_METHOD(fixture,
                 "leadership: the job ends between the reading of a member and "
                 "its campaign",
                 "[core]") {
  at(0s, coordinator_wanted{true});
  at(0s, entry_read{{}, {6, false}});
  CHECK(at(0s, lease(7)) == "campaign 7 over 0 and 6");
  CHECK(at(0s, campaign_lost{{}, {8, true}})
        == "end_lease 7; report_missing job_over");
}

TEST_CASE_METHOD(
  fixture, "leadership: who was no member begins the next job with this id",
  "[core]") {
  // It has reached the coordinator, and was not accepted before the end.
  follow();
  CHECK(at(9s, coordinator_wanted{false}) == "read_entry");
  CHECK(at(9s, entry_read{{}, {8, true}}) == "open_lease");
  CHECK(at(9s, lease(7, 9s)) == "campaign 7 over 0 and 8");
  CHECK(at(9s, campaign_won{9, 0})
        == "set_leadership_end 23700; open_coordinator");
}

TEST_CASE_METHOD(
  fixture,
  "leadership: a proof about the last coordinator of an ended job "
  "is worth nothing in the next",
  "[core]") {
  follow();
  at(9s, coordinator_wanted{false});
  CHECK(at(9s, entry_read{leader_entry{5, "n2:4000"}, {8, true}})
        == "try_endpoint n2:4000");
  CHECK(at(9s, gone()) == "report_missing connection_failed");
}

} // namespace actorrun::test::leadership_test
