#include "runtime/http/health.hpp"
#include "tests/support/catch.hpp"

#include <memory>

namespace actorrun::test::health_test {

using namespace actorrun::detail;

namespace {

status_answer answer_of(v1::JobStatus x) {
  return {.what = std::make_shared<const v1::JobStatus>(std::move(x)),
          .at = {},
          .number = 1,
          .is_alive = true};
}

status_answer node(v1::ShareState share, const std::string& link = "joined") {
  auto x = v1::JobStatus{};
  x.set_phase(link);
  auto& agent = *x.add_agents();
  agent.set_share(share);
  agent.set_generation(3);
  agent.add_pids(7);
  return answer_of(std::move(x));
}

} // namespace

TEST_CASE("health: an actor that answers is healthy", "[runtime]") {
  CHECK(health_of(node(v1::SHARE_IDLE)).is_good);
  CHECK_FALSE(health_of({}).is_good);
  auto late = node(v1::SHARE_RUNNING);
  late.is_alive = false;
  CHECK_FALSE(health_of(late).is_good);
  CHECK_FALSE(readiness_of_node(late).is_good);
  CHECK_FALSE(readiness_of_job(late).is_good);
}

TEST_CASE("health: a node is ready while its workers run", "[runtime]") {
  CHECK(readiness_of_node(node(v1::SHARE_RUNNING)).is_good);
  CHECK(readiness_of_node(node(v1::SHARE_RUNNING)).text
        == "1 worker runs in generation 3");
  for (const auto share :
       {v1::SHARE_IDLE, v1::SHARE_STARTING, v1::SHARE_SUCCEEDED,
        v1::SHARE_FAILED, v1::SHARE_STOPPING})
    CHECK_FALSE(readiness_of_node(node(share)).is_good);
  CHECK(readiness_of_node(node(v1::SHARE_IDLE)).text
        == "this node has joined and waits for a generation");
  CHECK(readiness_of_node(node(v1::SHARE_IDLE, "seeking")).text
        == "this node has no place in the job; its link is seeking");
}

TEST_CASE(
  "health: a coordinator without an agent is ready while a generation runs",
  "[runtime]") {
  auto job = v1::JobStatus{};
  job.set_phase("gathering");
  job.set_waiting_for("1 of 2 nodes are\n here");
  CHECK(readiness_of_job(answer_of(job)).text.find("gathering")
        != std::string::npos);
  CHECK(readiness_of_job(answer_of(job)).text.find('\n') == std::string::npos);
  CHECK_FALSE(readiness_of_job(answer_of(job)).is_good);
  job.set_phase("running");
  CHECK(readiness_of_job(answer_of(job)).is_good);
}

} // namespace actorrun::test::health_test
