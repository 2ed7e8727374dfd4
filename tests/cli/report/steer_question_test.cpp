// Tests the question that comes before work is lost.
#include "cli/report/steer_question.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <vector>

namespace actorrun::test::steer_question_test {

using namespace actorrun::cli;

namespace {

/// Three nodes run, a fourth one stands by.
v1::JobStatus big() {
  auto out = v1::JobStatus{};
  out.set_job_id("big");
  out.set_phase("running");
  out.set_generation(3);
  out.set_world_size(64);
  out.mutable_settings()->set_agent_count_max(3);
  for (uint32_t i = 0; i < 4; ++i) {
    auto& x = *out.add_agents();
    x.set_agent_id("agent-" + std::to_string(i));
    x.set_host("n" + std::to_string(i));
    x.set_state(i < 3 ? "running" : "standby");
    if (i == 3)
      continue;
    x.set_generation(3);
    x.set_node_rank(i);
  }
  return out;
}

v1::OperatorRequest resize_to(uint32_t min, uint32_t max) {
  auto out = v1::OperatorRequest{};
  out.mutable_resize()->set_agent_count_min(min);
  out.mutable_resize()->set_agent_count_max(max);
  return out;
}

v1::OperatorRequest election_without(const std::vector<std::string>& hosts) {
  auto out = v1::OperatorRequest{};
  for (const auto& x : hosts)
    out.mutable_elect()->add_accept_loss(x);
  return out;
}

v1::OperatorRequest drain_of(const std::string& node) {
  auto out = v1::OperatorRequest{};
  out.mutable_drain()->set_node(node);
  return out;
}

v1::OperatorRequest exclusion_of(const std::string& host) {
  auto out = v1::OperatorRequest{};
  out.mutable_exclude()->set_host(host);
  return out;
}

v1::OperatorRequest inclusion_of(const std::string& host) {
  auto out = v1::OperatorRequest{};
  out.mutable_include()->set_host(host);
  return out;
}

} // namespace

TEST_CASE("steer question: stop and restart are about all workers (P5)",
          "[cli]") {
  auto job = big();
  auto stop = v1::OperatorRequest{};
  stop.mutable_stop();
  auto restart = v1::OperatorRequest{};
  restart.mutable_restart();
  CHECK(question_before(restart, job)
        == "Restart all 64 workers of big? Work since the last checkpoint is"
           " lost.");
  CHECK(question_before(stop, job)
        == "Stop big and its 64 workers? Work since the last checkpoint is"
           " lost.");
  job.set_world_size(1);
  CHECK(question_before(restart, job).starts_with("Restart the worker of big"));
  CHECK(question_before(stop, job).starts_with("Stop big and its 1 worker?"));
  // A job that waits has no workers, and is over when it is stopped.
  job.set_phase("gathering");
  CHECK(question_before(restart, job) == "");
  CHECK(question_before(stop, job) == "Stop big? It ends on all its nodes.");
  job.set_job_id("a\x1b[2J");
  CHECK(question_before(stop, job) == "Stop a? It ends on all its nodes.");
}

TEST_CASE("steer question: only what ends workers is asked about (P5)",
          "[cli]") {
  auto job = big();
  for (const auto* node : {"agent-1", "n1", "1"})
    CHECK(question_before(drain_of(node), job)
            .starts_with("Drain node 1 (n1) of big? Its workers get notice"));
  CHECK(question_before(drain_of("n3"), job) == "");
  CHECK(question_before(resize_to(2, 2), job)
        == "Resize big to 2 nodes? 1 of its 3 nodes stands by, and all workers"
           " start again. Work since the last checkpoint is lost.");
  CHECK(question_before(resize_to(1, 4), job)
        == "Resize big to 1:4 nodes? Nodes that stand by take part, and all"
           " workers start again. Work since the last checkpoint is lost.");
  CHECK(question_before(resize_to(1, 3), job) == "");
  CHECK(question_before(exclusion_of("n1"), job)
        == "Exclude host n1 from big? 1 of its 3 nodes stands by, and all"
           " workers start again. Work since the last checkpoint is lost.");
  CHECK(question_before(exclusion_of("n3"), job) == "");
  CHECK(question_before(inclusion_of("n3"), job) == ""); // There is no room.
  job.mutable_settings()->set_agent_count_max(4);
  CHECK(question_before(inclusion_of("n3"), job)
          .starts_with("Include host n3 in big? It takes part"));
  job.mutable_agents()->RemoveLast();
  CHECK(question_before(inclusion_of("n3"), job) == "");
  CHECK(question_before(resize_to(1, 4), job) == "");
  job.set_phase("stopping");
  CHECK(question_before(exclusion_of("n1"), job) == "");
}

TEST_CASE("steer question: what may lose work (P5)", "[cli]") {
  CHECK(may_lose_work(drain_of("n1")));
  CHECK(may_lose_work(resize_to(1, 2)));
  CHECK(may_lose_work(exclusion_of("n1")));
  CHECK(may_lose_work(inclusion_of("n1")));
  auto request = v1::OperatorRequest{};
  request.mutable_log_level();
  CHECK_FALSE(may_lose_work(request));
  CHECK(question_before(request, big()) == "");
  request.mutable_cancel_drain();
  CHECK_FALSE(may_lose_work(request));
  request.mutable_stop();
  CHECK(may_lose_work(request));
  request.mutable_restart();
  CHECK(may_lose_work(request));
}

TEST_CASE("steer question: only a yes is one (P5)", "[cli]") {
  for (const auto* yes : {"y", "Y", "yes", " YES "})
    CHECK(agrees(yes));
  for (const auto* no : {"", "n", "no", "yy", "yes please", "1"})
    CHECK_FALSE(agrees(no));
}

TEST_CASE("steer question: an election without hosts that may live", "[cli]") {
  auto job = big();
  const auto two = election_without({"n1", "n2"});
  CHECK(may_lose_work(two));
  CHECK(question_before(two, job)
        == "Have this agent lead big without n1, n2? If one of them lives, two "
           "groups of the job run from now on, and each may write what the "
           "other one writes.");
  job.set_phase("joining");
  CHECK(
    question_before(election_without({"n1"}), job)
    == "Have this agent lead big without n1? If it lives, two groups of the "
       "job run from now on, and each may write what the other one "
       "writes.");
  job.set_coordinator_pid(4711); // Refused.
  CHECK(question_before(two, job).empty());
}

} // namespace actorrun::test::steer_question_test
