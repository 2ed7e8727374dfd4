#include "actors/core/journal/snapshot.hpp"
#include "tests/support/catch.hpp"

#include <chrono>

namespace actorrun::test::snapshot_test {

using namespace actorrun::core;
using namespace actorrun::core::journal;
using namespace std::chrono_literals;

namespace {

coordinator_began beginning(int64_t pid) {
  auto out = coordinator_began{};
  out.job = {"j"};
  out.pid = pid;
  return out;
}

node node_of(const std::string& agent) {
  auto out = node{};
  out.agent = {agent};
  out.host = "node-" + agent;
  return out;
}

worker_died death(uint64_t generation, worker_failure failure) {
  auto out = worker_died{};
  out.generation = {generation};
  out.failure = std::move(failure);
  return out;
}

worker_failure failure_of(const std::string& agent, int code) {
  auto out = worker_failure{};
  out.agent = {agent};
  out.host = "node-" + agent;
  out.code = code;
  out.details.traceback = std::string(100'000, 'x');
  return out;
}

struct fixture {
  fixture() { at(0s, beginning(7)); }

  void at(std::chrono::milliseconds t, fact what) {
    uut.apply({++number, {time_point{t}, 1'000 + t.count()}, std::move(what)});
  }

  void form(std::chrono::milliseconds t, uint64_t generation) {
    auto x = generation_formed{};
    x.generation = {generation};
    at(t, x);
  }

  uint64_t number = 0;
  snapshot uut;
};

} // namespace

TEST_CASE_METHOD(fixture, "snapshot: how its coordinator leads", "[core]") {
  at(1s, voters_changed{1, {{"a"}}, {}}); // Of one that was not elected.
  CHECK_FALSE(uut.leadership);
  const auto chosen = leader_chosen{.agent = {"a"},
                                    .term = 2,
                                    .by = leader_source::voters,
                                    .what = leader_change::kind::silent,
                                    .from = {"b"},
                                    .silent_for = 400ms,
                                    .reason = {}};
  at(2s, chosen);
  at(3s, voters_changed{3, {{"a"}, {"c"}, {"d"}}, {{"e"}}});
  REQUIRE(uut.leadership);
  CHECK(uut.leadership->chosen == chosen);
  CHECK(uut.leadership->chosen.change()
        == leader_change{leader_change::kind::silent, {"b"}, 400ms});
  CHECK(uut.leadership->at.when == time_point{2s});
  CHECK(uut.leadership->term == 3);
  CHECK(uut.leadership->voters.size() == 3);
  CHECK(uut.leadership->deputies == std::vector<agent_id>{{"e"}});
  CHECK_FALSE(uut.left);
  at(4s, leadership_given_up{"another agent leads"});
  REQUIRE(uut.left);
  CHECK(uut.left->reason == "another agent leads");
  CHECK(uut.left->at.when == time_point{4s});
}

TEST_CASE_METHOD(fixture,
                 "snapshot: a generation from its beginning to its end",
                 "[core]") {
  form(1s, 1);
  at(2s, generation_running{{1}});
  at(3s, death(1, failure_of("a", 7)));
  at(3s, death(1, failure_of("b", 8)));
  at(4s, generation_revoked{{1}, "rank 0 failed"});
  at(5s, generation_revoked{{1}, "again"}); // The first counts.
  const auto& x = *uut.newest_generation();
  CHECK(x.formed_at.when == time_point{1s});
  CHECK(x.running_at->when == time_point{2s});
  CHECK(x.revoked_at->when == time_point{4s});
  CHECK(x.end_reason == "rank 0 failed");
  CHECK(x.cause->code == 7);
  CHECK(x.cause_at.when == time_point{3s});
  CHECK(x.others.count() == 1);
  // The root cause is known when all have stopped.
  at(6s, generation_stopped{.generation = {1},
                            .cause = failure_of("b", 8),
                            .exemption = "b left",
                            .restart_count = 1});
  CHECK(x.cause->code == 8);
  CHECK(x.others.count() == 0);
  CHECK(x.exemption == "b left");
  CHECK(x.stopped_at->when == time_point{6s});
  CHECK(uut.restart_count == 1);
  CHECK(uut.number == number);
  CHECK(uut.latest.wall_ms == 7'000);
}

TEST_CASE_METHOD(fixture, "snapshot: facts of generations that are not known",
                 "[core]") {
  at(1s, generation_running{{4}});
  at(1s, death(4, failure_of("a", 7)));
  at(1s, generation_revoked{{4}, "why"});
  at(1s, generation_stopped{.generation = {4}, .restart_count = 2});
  CHECK(uut.newest_generation() == nullptr);
  CHECK(uut.restart_count == 2);
}

TEST_CASE_METHOD(fixture, "snapshot: the time of a regroup", "[core]") {
  form(1s, 1);
  at(2s, generation_running{{1}});
  CHECK_FALSE(regroup_time(uut, 0));
  at(3s, generation_revoked{{1}, "1 more joined"});
  form(4s, 2);
  CHECK_FALSE(regroup_time(uut, 1));
  at(5s, generation_running{{2}});
  CHECK(regroup_time(uut, 1) == duration{2s});
  CHECK_FALSE(regroup_time(uut, 2));
}

TEST_CASE_METHOD(fixture, "snapshot: nodes come, change and go", "[core]") {
  auto x = node_of("a");
  at(1s, node_changed{x});
  x.slot_count = 2; // Nothing that `since` is about.
  at(2s, node_changed{x});
  const auto& entry = uut.nodes.at({"a"});
  CHECK(entry.joined_at.when == time_point{1s});
  CHECK(entry.since.when == time_point{1s});
  CHECK(entry.now->slot_count == 2);
  x.connected = false;
  at(3s, node_changed{x});
  CHECK(entry.since.when == time_point{3s});
  at(4s, gpus_changed{{"a"}, "GPU 1: XID 79"});
  CHECK(entry.gpus->text == "GPU 1: XID 79");
  // What was wrong with its node when a worker died stays with the generation.
  form(4s, 1);
  at(5s, death(1, failure_of("a", 7)));
  at(6s, gpus_changed{{"a"}, ""});
  CHECK_FALSE(entry.gpus);
  CHECK(uut.newest_generation()->gpus->text == "GPU 1: XID 79");
  at(7s, node_gone{{"a"}, "agent a left"});
  at(7s, node_gone{{"b"}, "unknown"});
  at(7s, gpus_changed{{"a"}, "GPU 0: gone"});
  CHECK(uut.nodes.empty());
  REQUIRE(uut.departures.size() == 1);
  CHECK(uut.departures[0].last.host == "node-a");
  CHECK(uut.departures[0].reason == "agent a left");
}

TEST_CASE_METHOD(fixture, "snapshot: since when it waits", "[core]") {
  at(1s, wait_changed{"waiting for 2 more nodes", time_point{9s}});
  at(2s, wait_changed{"waiting for 1 more node", time_point{9s}});
  CHECK(uut.waiting_for == "waiting for 1 more node");
  CHECK(uut.waiting_since.when == time_point{1s});
  CHECK(uut.waiting_until == time_point{9s});
  at(3s, wait_changed{});
  at(4s, wait_changed{"last call"});
  CHECK(uut.waiting_since.when == time_point{4s});
}

TEST_CASE_METHOD(fixture, "snapshot: what is remembered is bounded", "[core]") {
  for (uint64_t i = 1; i <= generations_remembered_max + 3; ++i) {
    form(1s, i);
    for (auto code = 1; code <= 8; ++code)
      at(1s, death(i, failure_of("a", code)));
    at(1s, operator_asked{});
    at(1s, node_refused{});
    at(1s, node_changed{node_of(std::to_string(i))});
    at(1s, node_gone{{std::to_string(i)}, "left"});
  }
  CHECK(uut.generations.size() == generations_remembered_max);
  CHECK(uut.forgotten_generation_count == 3);
  CHECK(uut.requests.size() == requests_remembered_max);
  CHECK(uut.refusals.size() == refusals_remembered_max);
  CHECK(uut.departures.size() == departures_remembered_max);
  // Of older generations less is told, and nothing is uncounted.
  CHECK(uut.generations.back().others.listed.size() == 7);
  CHECK(uut.generations.back().cause == failure_of("a", 1));
  CHECK(uut.generations.front().others.listed.size() == 4);
  CHECK(uut.generations.front().others.count() == 7);
  CHECK(uut.generations.front().cause == brief(failure_of("a", 1)));
}

TEST_CASE_METHOD(fixture, "snapshot: the generation before the newest (P4)",
                 "[core]") {
  CHECK(uut.generation_before() == generation_id{});
  form(1s, generation_of(5, 1).value);
  CHECK(uut.generation_before() == generation_id{});
  form(2s, generation_of(5, 4).value); // Agents have seen others meanwhile.
  CHECK(uut.generation_before() == generation_of(5, 1));
  // One that was taken over.
  at(3s, beginning(8));
  form(3s, generation_of(6, 4).value);
  CHECK(uut.generation_before() == generation_of(6, 3));
}

TEST_CASE_METHOD(fixture, "snapshot: another coordinator begins anew",
                 "[core]") {
  form(1s, 1);
  at(1s, end_requested{15});
  auto result = outcome{};
  result.kind = outcome::verdict::stopped;
  at(1s, job_ended{result});
  CHECK(uut.result->kind == outcome::verdict::stopped);
  CHECK(uut.ended_at->when == time_point{1s});
  CHECK(uut.end_request->signal == 15);
  at(2s, beginning(8));
  CHECK(uut.generations.empty());
  CHECK_FALSE(uut.result);
  CHECK_FALSE(uut.end_request);
  CHECK(uut.coordinator.pid == 8);
  CHECK(uut.began.when == time_point{2s});
  CHECK(uut.number == number);
}

} // namespace actorrun::test::snapshot_test
