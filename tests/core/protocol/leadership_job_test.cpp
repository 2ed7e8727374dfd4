// Tests what the registry holds of a job from one coordinator to the next.
#include "tests/support/leadership_fixture.hpp"

namespace actorrun::test::leadership_job_test {

namespace {

using phase = leadership::phase;

constexpr auto asked
  = job_settings{2, 8, 3, false, std::chrono::milliseconds{1'200}};

charter job_of(job_settings settings) {
  return {.revision = 4,
          .settings = settings,
          .lease = settings.lease,
          .newest = {5'000}};
}

/// A node that asks for 2 to 8 nodes and a lease of 1.2 s.
struct fixture : leadership_fixture {
  fixture() : leadership_fixture(true, false, asked) {}

  /// There is no leader, but a job.
  std::string stand(const charter& job) {
    at(0s, coordinator_wanted{});
    return at(0s, entry_read{{}, {9, false, job}});
  }

  /// It has won with this job.
  void win(const charter& job) {
    stand(job);
    at(0s, lease(7));
    at(0s, campaign_won{2, 1});
  }

  void lead(const charter& job) {
    win(job);
    at(0s, coordinator_opened{"n1:4000"});
    at(0s, leadership_published{3});
    REQUIRE(uut.current_phase() == phase::leading);
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "leadership: V2 who asks for another job than runs does not "
                 "campaign, and says so",
                 "[core]") {
  auto other = asked;
  SECTION("another lease") {
    other.lease = 15'300ms;
  }
  SECTION("other numbers of nodes") {
    other.agent_count_max = 6;
  }
  SECTION("other restarts") {
    other.restart_count_max = 9;
  }
  CHECK(stand(job_of(other)) == "report_missing settings_mismatch");
  CHECK(missing.starts_with("the job runs with "));
  CHECK(uut.current_phase() == phase::idle);
}

TEST_CASE_METHOD(fixture,
                 "leadership: V2 nor does it when the coordinator is proved to "
                 "be gone",
                 "[core]") {
  follow();
  at(1s, coordinator_wanted{true});
  auto other = asked;
  other.lease = 15'300ms;
  at(1s, entry_read{leader_entry{5, "n2:4000"}, {9, false, job_of(other)}});
  CHECK(at(1s, gone()) == "report_missing settings_mismatch");
}

TEST_CASE_METHOD(
  fixture,
  "leadership: N1 after a resize both the old numbers and the new "
  "may be asked for",
  "[core]") {
  auto job = job_of(asked);
  job.settings.agent_count_min = 4;
  job.settings.agent_count_max = 6;
  job.settings.lease = 1'300ms;
  job.is_resized = true;
  CHECK(stand(job) == "open_lease");
}

TEST_CASE_METHOD(
  fixture, "leadership: V2 of a job that is over the settings do not count",
  "[core]") {
  auto other = asked;
  other.lease = 15'300ms;
  at(0s, coordinator_wanted{});
  CHECK(at(0s, entry_read{{}, {9, true, job_of(other)}}) == "open_lease");
  at(0s, lease(7));
  CHECK(last<core::campaign>().job.settings == asked);
  at(0s, campaign_won{2, 0});
  CHECK(last<open_coordinator>().known.revision == 0);
}

TEST_CASE_METHOD(
  fixture,
  "leadership: P8 the next job counts its generations from 1, in a later term",
  "[core]") {
  auto job = job_of(asked);
  job.newest = generation_of(8, 5'000);
  at(0s, coordinator_wanted{});
  at(0s, entry_read{{}, {9, true, job}});
  at(0s, lease(7));
  CHECK(last<core::campaign>().job.newest == generation_of(9, 0));
  at(0s, campaign_won{2, 0});
  CHECK(last<open_coordinator>().known.newest == generation_of(8, 0));
}

TEST_CASE_METHOD(
  fixture, "leadership: N11 numbers go on from one coordinator to the next",
  "[core]") {
  stand(job_of(asked));
  at(0s, lease(7));
  CHECK(last<core::campaign>().job.newest == generation_of(1, 5'000));
  at(0s, campaign_won{2, 1});
  CHECK(last<open_coordinator>().known.newest == generation_id{5'000});
  CHECK(last<open_coordinator>().known.lease == 1'200ms);
}

TEST_CASE_METHOD(
  fixture,
  "leadership: N11 no number is given that the registry does not "
  "know to be taken",
  "[core]") {
  lead(job_of(asked));
  auto job = job_of(asked);
  // P8: a successor is to know the number, too.
  job.newest = {5'001};
  CHECK(at(1s, job_changed{job}) == "write_job at 4");
  CHECK(last<write_job>().job.newest == generation_of(1, 5'001));
  CHECK(at(1s, job_written{}) == "arm_timer 2");
  CHECK(at(1s, job_changed{job}) == "");
  job.newest = generation_of(1 << 20, 3);
  CHECK(at(1s, job_changed{job}) == "write_job at 4");
  CHECK(last<write_job>().job.newest == generation_of((1 << 20) + 1, 5'001));
  CHECK(at(1s, job_written{}) == "arm_timer 3");
  CHECK(uut.current_phase() == phase::leading);
}

TEST_CASE_METHOD(
  fixture, "leadership: W7 what an operator has changed is written at once",
  "[core]") {
  lead(job_of(asked));
  auto job = job_of(asked);
  job.revision = 5;
  job.excluded = {{"n2", "a bad disk", "bob", {}}};
  CHECK(at(1s, job_changed{job}) == "write_job at 5");
  SECTION("what comes meanwhile follows") {
    job.revision = 6;
    CHECK(at(1s, job_changed{job}) == "");
    CHECK(at(1s, job_written{}) == "arm_timer 2; write_job at 6");
  }
  SECTION("what etcd has not taken comes with the next renewal") {
    CHECK(at(1s, away()) == "log_registry away; arm_timer 2");
    CHECK(at(5s, fired()) == "renew_lease 7");
    at(5s, renewed(5s));
    CHECK(at(5s, entry(3, "n1:4000"))
          == "log_registry back; arm_timer 3; write_job at 5");
  }
}

TEST_CASE_METHOD(
  fixture,
  "leadership: N6 a coordinator that does not know the job yet leaves what is "
  "written of it",
  "[core]") {
  auto job = job_of(asked);
  job.is_resized = true;
  job.excluded = {{"n2", "a bad disk", "bob", {}}};
  lead(job);
  // It is about to listen, and holds back for longer.
  CHECK(at(1s, job_changed{charter{.lease = 15s, .newest = {5'001}}})
        == "write_job at 4");
  const auto& written = last<write_job>().job;
  CHECK(is_same_job(written, job));
  CHECK(written.lease == 15s);
  CHECK(number_of(written.newest) == 5'001);
}

TEST_CASE_METHOD(fixture,
                 "leadership: N7 the outcome is written while the coordinator "
                 "still leads",
                 "[core]") {
  lead(job_of(asked));
  CHECK(at(1s, outcome_reached{}) == "write_job at 4, over");
  CHECK(at(1s, job_written{}) == "report_outcome_written; arm_timer 2");
  CHECK(uut.is_leader());
}

TEST_CASE_METHOD(fixture, "leadership: N7 no one waits for who does not lead",
                 "[core]") {
  CHECK(at(1s, outcome_reached{}) == "report_outcome_written");
}

TEST_CASE_METHOD(fixture,
                 "leadership: N7 whoever leads tells members how the job has "
                 "ended",
                 "[core]") {
  follow();
  at(1s, coordinator_wanted{true});
  CHECK(at(1s, entry_read{leader_entry{5, "n2:4000"}, {9, true, {}}})
        == "try_endpoint n2:4000");
  CHECK(at(1s, gone()) == "report_missing job_over");
}

TEST_CASE_METHOD(
  fixture,
  "leadership: V1 who has left nothing may have given the longest "
  "lease",
  "[core]") {
  win({});
  CHECK(last<open_coordinator>().known.lease == lease_max);
}

TEST_CASE_METHOD(fixture, "leadership: what is said too late changes nothing",
                 "[core]") {
  SECTION("of the job, to who does not lead") {
    stand(job_of(asked));
    CHECK(at(1s, job_changed{job_of(asked)}) == "");
  }
  SECTION("of what was written, to who writes nothing") {
    lead(job_of(asked));
    CHECK(at(1s, job_written{}) == "");
    CHECK(uut.current_phase() == phase::leading);
  }
}

} // namespace actorrun::test::leadership_job_test
