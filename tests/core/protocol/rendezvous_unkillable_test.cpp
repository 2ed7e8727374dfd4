// Tests a job when workers of a node outlive SIGKILL.
#include "tests/support/rendezvous_fixture.hpp"

#include <algorithm>
#include <csignal>

namespace actorrun::test::rendezvous_unkillable_test {

namespace {

struct fixture : rendezvous_fixture {
  using rendezvous_fixture::rendezvous_fixture;

  static worker_failure hanging(const std::string& agent) {
    auto x = failure_of(agent);
    x.kind = failure_kind::unkillable;
    x.code = SIGKILL;
    x.local_rank = 5;
    return x;
  }

  static workers_stopped stuck(const std::string& agent) {
    return {.agent = {agent},
            .generation = {1},
            .others = {{hanging(agent)}, 0},
            .unkillable_count = 1};
  }

  const outcome& end() const { return uut.result().value(); }
};

const auto settings_of_two = job_settings{2, 2, 3};

} // namespace

TEST_CASE("rendezvous: the job goes on without a node whose worker hangs",
          "[core]") {
  auto job = fixture{};
  job.revoke(); // A worker of b has failed.
  job.at(1s, job.stopped("a", 1));
  job.at(1s, job.stopped("b", 1));
  const auto text = job.at(2s, job.stuck("c"));
  CHECK(text.ends_with("announce_generation 2: a=0+1 b=1+1"));
  REQUIRE(job.uut.quarantined_nodes().size() == 1);
  const auto& mark = job.uut.quarantined_nodes()[0];
  CHECK(mark.host == "node-c");
  CHECK(mark.unkillable_count == 1);
  CHECK(job.uut.budget().restart_count() == 1);
  job.at(2s, job.left("c"));
  CHECK(job.uut.generation() == generation_id{2});
  CHECK(job.uut.quarantined_nodes().size() == 1);
}

TEST_CASE("rendezvous: with too few nodes left it ends at once", "[core]") {
  auto job = fixture{settings_of_two};
  job.at(0s, job.join("a"));
  job.at(0s, job.join("b"));
  job.at(1s, job.failed("b", 1));
  job.at(1s, job.stopped("b", 1));
  CHECK(job.at(31s, job.stuck("a")).find("end_job failed: a b")
        != std::string::npos);
  CHECK(job.end().first_failure->agent == agent_id{"b"});
  REQUIRE(job.end().other_failures.size() == 1);
  CHECK(job.end().other_failures[0].kind == failure_kind::unkillable);
  CHECK(job.end().reason
        == "rank 1 (local rank 0, pid 4711) on node-b exited with code 7; too "
           "few nodes are left: workers on node-a outlived SIGKILL");
  CHECK(job.uut.budget().restart_count() == 0);
}

TEST_CASE(
  "rendezvous: an exempt failure does not end the job, workers that hang do",
  "[core]") {
  auto job = fixture{settings_of_two};
  job.at(0s, job.join("a"));
  job.at(0s, job.join("b"));
  job.at(1s, job.failed("b", 1));
  job.at(1s, job.leaving("a", SIGTERM)); // This exempts b's failure.
  job.at(1s, job.stopped("b", 1));
  job.at(31s, job.stuck("a"));
  CHECK(job.end().kind == outcome::verdict::failed);
  CHECK(job.end().first_failure->kind == failure_kind::unkillable);
}

TEST_CASE(
  "rendezvous: a worker that hangs on a node that had lost its place does"
  " not end the job",
  "[core]") {
  auto job = fixture{settings_of_two};
  job.at(0s, job.join("a"));
  job.at(0s, job.join("b"));
  const auto plan = job.plan_of("a");
  job.at(1s, job.failed("b", 1));
  job.at(1s, job.disconnect("a"));
  job.at(1s, job.lose("a")); // This exempts b's failure.
  job.at(2s, job.rejoin("a", plan, share_state::stopping));
  job.at(2s, job.stopped("b", 1));
  job.at(31s, job.stuck("a"));
  CHECK(job.uut.quarantined_nodes().size() == 1);
  CHECK(job.uut.current_phase() == fixture::phase::gathering);
}

TEST_CASE("rendezvous: of workers that hang the first is named", "[core]") {
  auto job = fixture{job_settings{3, 3, 3}};
  job.run();
  job.at(1s, job.leaving("c", SIGTERM));
  job.at(31s, job.stuck("a"));
  job.at(32s, job.stuck("b"));
  job.at(32s, job.stopped("c", 1));
  CHECK(job.end().first_failure->agent == agent_id{"a"});
  REQUIRE(job.end().other_failures.size() == 1);
  CHECK(job.end().other_failures[0].agent == agent_id{"b"});
}

TEST_CASE("rendezvous: a worker that hangs may be known by its number only",
          "[core]") {
  auto job = fixture{settings_of_two};
  job.at(0s, job.join("a"));
  job.at(0s, job.join("b"));
  job.at(1s, job.failed("b", 1));
  job.at(1s, job.leaving("a", SIGTERM));
  job.at(1s, job.stopped("b", 1));
  auto stuck = job.stuck("a");
  stuck.others = {};
  job.at(31s, stuck);
  CHECK(job.end().first_failure->agent == agent_id{"b"});
}

TEST_CASE("rendezvous: the departure of a quarantined node exempts no failure",
          "[core]") {
  auto job = fixture{};
  job.revoke(); // A worker of b has failed.
  job.at(1s, job.stuck("c"));
  job.at(1s, job.left("c"));
  job.at(2s, job.stopped("a", 1));
  job.at(2s, job.stopped("b", 1));
  CHECK(job.uut.budget().restart_count() == 1);
}

TEST_CASE(
  "rendezvous: a worker that hung in an older generation does not end the "
  "job",
  "[core]") {
  auto job = fixture{job_settings{2, 3, 3}};
  job.revoke();
  job.at(1s, job.stuck("c"));
  job.at(1s, job.left("c"));
  job.at(2s, job.stopped("a", 1));
  job.at(2s, job.stopped("b", 1));
  REQUIRE(job.uut.generation() == generation_id{2});
  job.at(3s, job.failed("b", 2));
  job.at(4s, job.left("a"));
  job.at(4s, job.stopped("b", 2));
  CHECK(job.uut.current_phase() == fixture::phase::gathering);
}

TEST_CASE("rendezvous: a new agent of the host ends the quarantine", "[core]") {
  auto job = fixture{};
  job.revoke();
  job.at(1s, job.stuck("c"));
  job.at(1s, job.left("c"));
  auto again = job.join("d");
  again.offering.host = "node-c";
  job.at(2s, again);
  CHECK(job.uut.quarantined_nodes().empty());
}

TEST_CASE("rendezvous: quarantined nodes are bounded, the newest are kept",
          "[core]") {
  const auto count = uint32_t(quarantined_nodes_max) + 1;
  auto job = fixture{job_settings{1, count + 1, 1}};
  for (uint32_t i = 0; i <= count; ++i)
    job.at(0s, job.join("n" + std::to_string(i)));
  REQUIRE(job.uut.generation() == generation_id{1});
  job.at(1s, job.failed("n0", 1));
  for (uint32_t i = 1; i <= count; ++i) {
    job.at(2s, job.stuck("n" + std::to_string(i)));
    CHECK(job.uut.quarantined_nodes().size()
          == std::min<size_t>(i, quarantined_nodes_max));
  }
  CHECK(job.uut.quarantined_nodes().front().host == "node-n2");
  CHECK(job.uut.quarantined_nodes().back().host
        == "node-n" + std::to_string(count));
}

} // namespace actorrun::test::rendezvous_unkillable_test
