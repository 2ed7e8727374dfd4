#include "actors/core/journal/node_state.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::node_state_test {

using namespace actorrun::core;
using namespace actorrun::core::journal;

namespace {

worker_failure failure_of(const std::string& agent) {
  return {.agent = {agent},
          .host = "node-" + agent,
          .global_rank = 3,
          .local_rank = 1,
          .pid = 100,
          .kind = failure_kind::exited,
          .code = 7};
}

generation_entry generation_of(uint64_t number) {
  auto out = generation_entry{};
  out.formed.generation = {number};
  return out;
}

/// A node of generation 2, which runs.
struct fixture {
  fixture() {
    now.agent = {"b"};
    now.host = "node-b";
    now.generation = {2};
    now.share = share_state::running;
    job.phase = rendezvous_phase::running;
    job.generations.push_back(generation_of(2));
  }

  std::string state() const { return state_of({now}, job); }
  std::string reason() const { return reason_of({now}, job); }

  node now;
  snapshot job;
};

} // namespace

TEST_CASE_METHOD(fixture, "node_state: what its workers do", "[core]") {
  const auto [share, word] = GENERATE(table<share_state, std::string>({
    {share_state::starting, "starting"},
    {share_state::running, "running"},
    {share_state::succeeded, "succeeded"},
    {share_state::failed, "failed"},
    {share_state::stopping, "stopping"},
  }));
  now.share = share;
  CHECK(state() == word);
  CHECK(reason() == "");
}

TEST_CASE_METHOD(fixture,
                 "node_state: when the job has ended, workers are stopped",
                 "[core]") {
  job.result.emplace();
  CHECK(state() == "stopping");
  now.share = share_state::succeeded;
  CHECK(state() == "succeeded");
}

TEST_CASE_METHOD(fixture, "node_state: a node without workers waits",
                 "[core]") {
  SECTION("for a generation") {
    now.share = share_state::idle;
    job.phase = rendezvous_phase::gathering;
    CHECK(state() == "waiting");
  }
  SECTION("beside one that runs") {
    now.generation = {1};
    CHECK(state() == "standby");
  }
  SECTION("for the first one") {
    job.generations.clear();
    job.phase = rendezvous_phase::gathering;
    CHECK(state() == "waiting");
  }
  CHECK(reason() == "");
}

TEST_CASE_METHOD(fixture, "node_state: what comes before its workers",
                 "[core]") {
  now.excluded = true;
  auto host = excluded_host{};
  host.host = "node-b";
  host.reason = "bad\ndisk";
  job.excluded.push_back(host);
  CHECK(state() == "excluded");
  CHECK(reason().find("bad") != std::string::npos);
  CHECK(reason().find('\n') == std::string::npos);
  now.drained_at = time_point{};
  CHECK(state() == "draining");
  CHECK(reason() == "an operator lets it leave");
  now.drained_by = std::string{"the notice on n2"};
  CHECK(reason() == "leaves, as the notice on n2 has asked");
  now.connected = false;
  CHECK(state() == "away");
  CHECK(reason() == "its link is broken; its lease decides");
  now.leaving = true;
  CHECK(state() == "leaving");
  job.quarantined = {{{"b"}, "node-b", 1}};
  CHECK(reason() == "SIGKILL has not ended 1 worker");
  job.quarantined[0].unkillable_count = 2;
  CHECK(reason() == "SIGKILL has not ended 2 workers");
}

TEST_CASE_METHOD(fixture, "node_state: a node that waits to leave works on",
                 "[core]") {
  now.waits_to_drain = journal::waiting_drain{"al\nice", time_point{}};
  CHECK(state() == "running");
  CHECK(reason().find("drain waits for a replacement, asked by al") == 0);
  CHECK(reason().find('\n') == std::string::npos);
  now.excluded = true; // What comes before its workers comes before that.
  CHECK(state() == "excluded");
}

TEST_CASE_METHOD(fixture, "node_state: why its workers end", "[core]") {
  now.share = share_state::stopping;
  auto& generation = job.generations.back();
  generation.end_reason = "1 more joined";
  CHECK(reason() == "1 more joined");
  generation.cause = failure_of("a"); // Of another node.
  CHECK(reason() == "1 more joined");
  generation.others.add(failure_of("b"));
  CHECK(reason().find("exited with code 7") != std::string::npos);
  generation.cause = failure_of("b");
  generation.cause->code = 9;
  CHECK(reason().find("code 9") != std::string::npos);
}

TEST_CASE_METHOD(fixture, "node_state: the last failure of the job", "[core]") {
  CHECK(last_failure_of(job) == nullptr);
  job.result.emplace().first_failure = failure_of("c");
  REQUIRE(last_failure_of(job) != nullptr);
  CHECK(last_failure_of(job)->agent == agent_id{"c"});
  job.generations.front().cause = failure_of("a");
  job.generations.push_back(generation_of(3));
  CHECK(last_failure_of(job)->agent == agent_id{"a"});
}

} // namespace actorrun::test::node_state_test
