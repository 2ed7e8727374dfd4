// Tests what a job's journal tells of its status.

#include "actors/core/journal/node_state.hpp"
#include "actors/job_status.hpp"
#include "messages/type_ids.hpp"
#include "tests/support/chronicle_fixture.hpp"

#include <random>

namespace actorrun::test::job_status_test {

using namespace actorrun::core;

namespace {

struct status_fixture : chronicle_fixture {
  v1::JobStatus status(std::chrono::milliseconds t) const {
    return status_of(chronicle.now(), moment_at(t));
  }

  /// `a:running b:away …`
  std::string states(std::chrono::milliseconds t) const {
    auto out = std::string{};
    const auto seen = status(t); // It must outlive the loop.
    for (const auto& x : seen.agents())
      out += (out.empty() ? "" : " ") + x.agent_id() + ":" + x.state();
    return out;
  }
};

} // namespace

TEST_CASE("job status: it tells since when, and until when", "[actors]") {
  auto job = status_fixture{};
  job.begin();
  job.note(100ms, job.join("a"));
  const auto seen = job.status(350ms);
  CHECK(seen.job_id() == "job1");
  CHECK(seen.phase() == "gathering");
  CHECK(seen.generation() == 0);
  CHECK_FALSE(seen.is_healthy());
  CHECK(seen.age_ms() == 350);
  CHECK(seen.waiting_age_ms() == 250);
  CHECK(seen.has_waiting_left_ms());
  CHECK(seen.wall_ms() == chronicle_fixture::wall_begin + 350);
  CHECK(seen.sequence() == job.records.back().number);
  CHECK(job.states(350ms) == "a:waiting");
  CHECK(seen.agents(0).since_ms() == 250);
}

TEST_CASE("job status: it says where the time went", "[actors]") {
  auto job = status_fixture{};
  job.run_noted(); // Three nodes with a place each start for 100 ms.
  const auto seen = job.status(1'100ms);
  REQUIRE(seen.time_size() == 2);
  CHECK(seen.time(0).cause() == "training");
  CHECK(seen.time(0).worker_us() == 3'000'000);
  CHECK(seen.time(0).node_us() == 3'000'000);
  CHECK(seen.time(1).cause() == "starting");
  CHECK(seen.time(1).worker_us() == 300'000);
  auto later = job.status(2'000ms);
  CHECK(later.time(0).worker_us() == 5'700'000);
  forget_ages(later);
  CHECK(later.time().empty());
}

TEST_CASE("job status: nodes have one word, and a reason where it needs one",
          "[actors]") {
  auto job = status_fixture{};
  job.run_noted();
  CHECK(job.states(1s) == "a:running b:running c:running");
  CHECK(job.status(1s).is_healthy());
  job.note(2s, job.disconnect("c"));
  CHECK(job.states(2s) == "a:running b:running c:away");
  CHECK_FALSE(job.status(2s).is_healthy());
  CHECK(job.status(3s).agents(2).since_ms() == 1'000);
  CHECK(job.status(3s).agents(2).reason()
        == "its link is broken; its lease decides");
  job.note(4s, job.failed("b", 1));
  CHECK(job.states(4s) == "a:stopping b:stopping c:away");
  const auto seen = job.status(4s);
  CHECK(seen.phase() == "stopping");
  CHECK(seen.agents(1).reason()
        == to_string(*last_failure_of(job.chronicle.now())));
  CHECK(seen.last_failure().agent_id() == "b");
  CHECK_FALSE(seen.agents(0).reason().empty());
}

TEST_CASE(
  "job status: generations say why they ended, and what the next one took",
  "[actors]") {
  auto job = status_fixture{};
  job.run_noted();
  job.note(1s, job.failed("b", 1));
  job.stop_noted(1'100ms);
  for (const auto* agent : {"a", "b", "c"})
    job.note(1'250ms, workers_started{{agent}, {2}, {1}});
  const auto seen = job.status(2s);
  REQUIRE(seen.generations_size() == 2);
  const auto& first = seen.generations(0);
  CHECK(first.generation() == 1);
  CHECK(first.reason().empty());
  CHECK(first.node_count() == 3);
  CHECK(first.age_ms() == 2'000);
  CHECK(first.running_age_ms() == 1'900);
  CHECK(first.revoked_age_ms() == 1'000);
  CHECK_FALSE(first.has_regroup_us());
  CHECK(first.cost_restart());
  CHECK(first.end_reason() == to_string(*last_failure_of(job.chronicle.now())));
  const auto& second = seen.generations(1);
  CHECK(second.regroup_us() == 250'000);
  CHECK(second.end_reason().empty());
  CHECK_FALSE(second.cost_restart());
  CHECK(seen.restart_count() == 1);
}

TEST_CASE("job status: nodes that are gone are listed, the newest ones",
          "[actors]") {
  auto job = status_fixture{};
  job.run_noted();
  job.note(1s, job.leaving("a", 15));
  CHECK(job.status(1s).agents(0).state() == "leaving");
  job.note(2s, job.left("a"));
  const auto seen = job.status(3s);
  REQUIRE(seen.departed_nodes_size() == 1);
  CHECK(seen.departed_nodes(0).host() == "node-a");
  CHECK(seen.departed_nodes(0).reason() == "agent a left");
  CHECK(seen.departed_nodes(0).age_ms() == 1'000);
}

TEST_CASE("job status: a journal tells the same as the job, at any moment",
          "[actors]") {
  auto job = status_fixture{};
  job.run_noted();
  job.note(1s, job.failed("b", 1));
  job.stop_noted(1'100ms);
  job.note(2s, stop_requested{15});
  auto replayed = journal::snapshot{};
  for (const auto& x : job.records)
    replayed.apply(x);
  CHECK(
    status_of(replayed, chronicle_fixture::moment_at(5s)).SerializeAsString()
    == job.status(5s).SerializeAsString());
}

TEST_CASE("job status: ages alone are no news", "[actors]") {
  auto job = status_fixture{};
  job.run_noted();
  job.note(1s, job.disconnect("c"));
  auto early = job.status(2s);
  auto late = job.status(9s);
  CHECK(early.SerializeAsString() != late.SerializeAsString());
  forget_ages(early);
  forget_ages(late);
  CHECK(early.SerializeAsString() == late.SerializeAsString());
  job.note(10s, job.failed("b", 1));
  auto other = job.status(10s);
  forget_ages(other);
  CHECK(other.SerializeAsString() != early.SerializeAsString());
}

TEST_CASE("job status: a long history leaves room for the nodes", "[actors]") {
  auto known = journal::snapshot{};
  auto number = uint64_t{0};
  const auto put = [&](journal::fact x) {
    known.apply({++number, {}, std::move(x)});
  };
  for (uint64_t i = 1; i <= 100; ++i) {
    auto formed = journal::generation_formed{};
    formed.generation = {i};
    formed.reason = std::string(1'000, 'r');
    put(formed);
    put(journal::generation_revoked{{i}, std::string(1'000, 'e')});
  }
  for (auto i = 0; i < 100; ++i) {
    const auto id = "agent" + std::to_string(i);
    auto node = journal::node{};
    node.agent = {id};
    node.host = std::string(200, 'h');
    put(journal::node_changed{node});
    if (i < 50)
      put(journal::node_gone{{id}, std::string(1'000, 'g')});
  }
  const auto seen = status_of(known, {});
  CHECK(seen.ByteSizeLong() <= v1::message_size_max);
  CHECK(seen.agents_size() == 50);
  CHECK(seen.generations_size() == int(journal::generations_remembered_max));
  CHECK(seen.departed_nodes_size() == int(departures_told_max));
  CHECK(seen.generations(0).end_reason() == "-");
  CHECK(seen.generations(63).end_reason().size() >= 100);
}

} // namespace actorrun::test::job_status_test
