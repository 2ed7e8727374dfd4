#include "tests/support/chronicle_fixture.hpp"

namespace actorrun::test::chronicle_test {

TEST_CASE("chronicle: records say what has changed, once", "[core]") {
  auto job = chronicle_fixture{};
  job.begin();
  CHECK(job.note(1ms, job.join("a")) == "joined node wait");
  CHECK(job.note(2ms, job.heard(2ms, "a")).empty());
  CHECK(job.note(3ms, job.join("b")) == "joined node phase wait");
  CHECK(job.note(4ms, job.join("c"))
        == "joined formed node node node phase wait");
  CHECK(job.note(5ms, workers_started{{"a"}, {1}, {7}}) == "node wait");
  CHECK(job.note(6ms, workers_started{{"b"}, {1}, {8}}) == "node wait");
  CHECK(job.note(7ms, workers_started{{"c"}, {1}, {9}})
        == "node running phase wait");
  CHECK(job.note(8ms, job.disconnect("a")) == "touch node");
  CHECK(job.note(9ms, job.heard(9ms, "b")).empty());
  CHECK(job.chronicle.now().nodes.at({"c"}).now->pids
        == std::vector<int64_t>{9});
  CHECK(job.chronicle.now() == job.replayed());
}

TEST_CASE("chronicle: a generation ends with its root cause and its cost",
          "[core]") {
  auto job = chronicle_fixture{};
  job.run_noted();
  CHECK(job.note(1s, job.failed("b", 1))
        == "died revoked node node node phase wait");
  CHECK(job.note(1s, job.failed("b", 1)) == "node"); // Repeated.
  job.stop_noted(1'100ms);
  const auto& now = job.chronicle.now();
  REQUIRE(now.generations.size() == 2);
  const auto& first = now.generations.front();
  CHECK(first.cause->agent == agent_id{"b"});
  CHECK(first.exemption.empty());
  CHECK(first.restart_count == 1);
  CHECK(first.stopped_at->when == time_point{1'100ms});
  CHECK(now.restart_count == 1);
  CHECK(now.nodes.at({"a"}).now->pids.empty());
  for (const auto* agent : {"a", "b", "c"})
    job.note(1'200ms, workers_started{{agent}, {2}, {1}});
  CHECK(journal::regroup_time(job.chronicle.now(), 1) == 200ms);
  CHECK_FALSE(journal::regroup_time(job.chronicle.now(), 0));
  CHECK(job.chronicle.now() == job.replayed());
}

TEST_CASE("chronicle: a failure that was reported later can be the cause",
          "[core]") {
  auto job = chronicle_fixture{};
  job.run_noted();
  auto late = job.failed("c", 1);
  late.failure.age = 3s;
  job.note(1s, job.failed("b", 1));
  job.note(1'010ms, late);
  job.stop_noted(1'020ms);
  const auto& first = job.chronicle.now().generations.front();
  CHECK(first.cause->agent == agent_id{"c"});
  REQUIRE(first.others.listed.size() == 1);
  CHECK(first.others.listed.front().agent == agent_id{"b"});
}

TEST_CASE("chronicle: a generation that ended for another reason has no cause",
          "[core]") {
  auto job = chronicle_fixture{};
  job.run_noted();
  CHECK(job.note(1s, job.leaving("a", 15))
        == "leaving revoked node node node phase wait");
  CHECK(job.note(2s, job.left("a")) == "gone wait");
  job.note(2s, job.stopped("b", 1));
  job.note(2s, job.stopped("c", 1));
  const auto& first = job.chronicle.now().generations.front();
  CHECK_FALSE(first.cause);
  CHECK(first.stopped_at);
  CHECK(job.chronicle.now().departures.front().reason == "agent a left");
  CHECK(job.chronicle.now().departures.front().last.host == "node-a");
}

TEST_CASE("chronicle: a refusal, the end on request and the end are noted",
          "[core]") {
  auto job = chronicle_fixture{};
  job.run_noted();
  auto another = job.join("d");
  another.settings.restart_count_max = 9;
  CHECK(job.note(1s, another) == "refused");
  CHECK(job.chronicle.now().refusals.front().what.host == "node-d");
  CHECK(job.note(2s, stop_requested{15})
        == "asked phase ended"); // Its agents stop by themselves.
  CHECK(job.chronicle.now().result->kind == outcome::verdict::stopped);
  CHECK(job.chronicle.now().end_request->signal == 15);
  CHECK(job.chronicle.now() == job.replayed());
}

TEST_CASE("chronicle: success ends the generation and the job", "[core]") {
  auto job = chronicle_fixture{};
  job.run_noted();
  job.note(1s, job.succeeded("a", 1));
  job.note(1s, job.succeeded("b", 1));
  CHECK(job.note(1s, job.succeeded("c", 1)) == "stopped node phase ended");
  CHECK(job.chronicle.now().generations.front().stopped_at);
  CHECK_FALSE(job.chronicle.now().generations.front().revoked_at);
}

TEST_CASE("chronicle: a successor notes the generation that it takes over",
          "[core]") {
  auto first = chronicle_fixture{};
  first.run_noted();
  auto job = chronicle_fixture{};
  job.begin();
  job.note(0ms, coordinator_started{true, {}});
  const auto back = [&](const char* agent) {
    auto x = job.rejoin(agent, first.plan_of(agent), share_state::running);
    x.pids = {5, 6};
    return x;
  };
  CHECK(job.note(1ms, back("a")) == "joined formed node");
  CHECK(job.chronicle.now().newest_generation()->formed.adopted);
  job.note(2ms, back("b"));
  job.note(3ms, back("c"));
  CHECK(job.chronicle.now().phase == rendezvous_phase::running);
  CHECK(job.chronicle.now().newest_generation()->running_at);
  CHECK(job.chronicle.now().nodes.at({"b"}).now->pids
        == std::vector<int64_t>{5, 6});
  CHECK(job.chronicle.now() == job.replayed());
}

TEST_CASE("snapshot: old generations are shortened, then forgotten", "[core]") {
  auto uut = journal::snapshot{};
  auto number = uint64_t{0};
  const auto put = [&](journal::fact x) {
    uut.apply({++number, {}, std::move(x)});
  };
  auto failure = rendezvous_fixture::failure_of("a");
  failure.details.traceback = std::string(10'000, 'x');
  for (uint64_t i = 1; i <= 70; ++i) {
    auto formed = journal::generation_formed{};
    formed.generation = {i};
    put(formed);
    for (uint32_t rank = 0; rank < 20; ++rank) {
      failure.local_rank = rank;
      put(journal::worker_died{{i}, failure});
    }
  }
  CHECK(uut.generations.size() == journal::generations_remembered_max);
  CHECK(uut.forgotten_generation_count == 6);
  const auto& oldest = uut.generations.front();
  CHECK(oldest.formed.generation == generation_id{7});
  CHECK(oldest.cause->details.traceback.size() == brief_traceback_max);
  CHECK(oldest.others.listed.size() == 4);
  CHECK(oldest.others.count() == 19);
  CHECK(uut.generations.back().cause->details.traceback.size() == 10'000);
}

TEST_CASE("chronicle: N6 a drain that a successor learns of is noted with its "
          "node, whoever tells of it",
          "[core]") {
  auto job = chronicle_fixture{{4, 5, 2}};
  job.begin();
  job.note(0ms, coordinator_started{.successor = true});
  const auto known
    = charter{.revision = 5,
              .settings = job.settings,
              .drains = {{{"a"}, "bob", std::chrono::milliseconds{30s}}}};
  for (const auto* agent : {"a", "b"}) {
    auto x = job.join(agent);
    x.told = known;
    job.note(1ms, x);
  }
  const auto& a = *job.chronicle.now().nodes.at({"a"}).now;
  REQUIRE(a.waits_to_drain);
  CHECK(a.waits_to_drain->by == "bob");
  CHECK(job.chronicle.now() == job.replayed());
}

namespace {

/// Two of three nodes train in generation 1, the third one, too.
struct saves_fixture : chronicle_fixture {
  saves_fixture() { run_noted(); }

  /// @returns the kinds of the records
  std::string save(milliseconds t, const char* agent, duration saving,
                   std::optional<duration> age, uint64_t generation = 1) {
    auto out = chronicle.note_saves({agent}, {{generation}, saving, age, 0s},
                                    moment_at(t));
    auto text = std::string{};
    for (const auto& x : out)
      text += name_of(*x.what);
    keep(std::move(out));
    return text;
  }

  const journal::node_run& run_of(const char* agent) const {
    return chronicle.now().nodes.at({agent}).run;
  }
};

} // namespace

TEST_CASE_METHOD(saves_fixture,
                 "chronicle: saves do not fill the journal, and none is "
                 "forgotten at the end",
                 "[core]") {
  CHECK(save(60s, "a", 1s, 2s) == "saved");
  CHECK(save(60s, "b", 1s, 2s) == "saved");
  CHECK(save(120s, "a", 2s, 2s).empty());
  CHECK(save(659'999ms, "a", 3s, 2s).empty());
  CHECK(save(659'999ms, "b", 6s, {}).empty());
  CHECK(save(660s, "a", 4s, 2s) == "saved");
  CHECK(save(700s, "a", 5s, 2s).empty());
  CHECK(note(800s, failed("b", 1))
        == "died saved saved revoked node node node phase wait");
  CHECK(run_of("a").saved_up_to == time_point{698s});
  CHECK(run_of("b").saving == 6s);
  // They may save until they have stopped.
  CHECK(save(801s, "a", 7s, 0s) == "saved");
  CHECK(run_of("a").saved_up_to == time_point{801s});
  stop_noted(802s);
  CHECK(chronicle.now().generations.front().lost);
  CHECK(save(803s, "a", 8s, 0s).empty());
  CHECK(chronicle.now() == replayed());
}

TEST_CASE_METHOD(
  saves_fixture,
  "chronicle: what a node has saved is known when it leaves, and "
  "when the job ends",
  "[core]") {
  save(60s, "b", 1s, 2s);
  save(61s, "b", 2s, 0s);
  SECTION("it leaves") {
    note(62s, disconnect("b"));
    const auto told = note(63s, lose("b"));
    INFO(told);
    CHECK(told.starts_with("saved"));
    CHECK(told.find("gone") != told.npos);
    REQUIRE(chronicle.now().leavers.size() == 1);
    CHECK(chronicle.now().leavers.front().run.saved_up_to == time_point{61s});
  }
  SECTION("the job ends") {
    const auto told = note(62s, stop_requested{15});
    INFO(told);
    CHECK(told.find("saved") != told.npos);
    CHECK(told.find("saved") < told.find("ended"));
    CHECK(save(63s, "b", 3s, 0s).empty());
  }
  CHECK(chronicle.now() == replayed());
}

TEST_CASE_METHOD(saves_fixture,
                 "chronicle: saves of other generations and nodes are not "
                 "written down",
                 "[core]") {
  CHECK(save(60s, "a", 1s, 2s, 2).empty());
  CHECK(save(60s, "x", 1s, 2s).empty());
  auto job = chronicle_fixture{};
  job.begin();
  CHECK(job.chronicle.note_saves({"a"}, {{1}, 1s, 1s, 0s}, job.moment_at(1s))
          .empty());
}

TEST_CASE("chronicle: the more nodes, the fewer records of saves", "[core]") {
  CHECK(journal::chronicle::save_pause(3) == 10min);
  CHECK(journal::chronicle::save_pause(600) == 10min);
  CHECK(journal::chronicle::save_pause(10'000) == 10'000s);
}

} // namespace actorrun::test::chronicle_test
