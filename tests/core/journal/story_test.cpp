#include "actors/core/journal/story.hpp"
#include "tests/support/chronicle_fixture.hpp"

#include <cerrno>
#include <csignal>

namespace actorrun::test::story_test {

using journal::why;
using journal::why_generation;

namespace {

std::string sentence(const chronicle_fixture& job,
                     std::chrono::milliseconds now) {
  return why(job.chronicle.now(), time_point{now}).sentence;
}

bool has(const journal::explanation& x, const std::string& part) {
  for (const auto& line : x.evidence)
    if (line.find(part) != std::string::npos)
      return true;
  return false;
}

worker_failed death(const std::string& agent, uint32_t rank, duration age,
                    const std::string& message = {}) {
  auto out = rendezvous_fixture::failed(agent, 1);
  out.failure.global_rank = rank;
  out.failure.age = age;
  out.failure.details.message = message;
  return out;
}

} // namespace

TEST_CASE("story: who is missing, since when, and what will happen", "[core]") {
  auto job = chronicle_fixture{};
  job.begin();
  job.note(1s, job.join("a"));
  const auto x = why(job.chronicle.now(), time_point{5s});
  CHECK(x.sentence
        == "Waiting for 1 more node: 1 of 2:3 nodes are here, for 4.0 s; "
           "otherwise the job gives up in 9 min 56 s.");
  CHECK(has(x, "here: node-a (a)"));
  CHECK_FALSE(
    journal::is_healthy(job.chronicle.now(), job.chronicle.now().latest.when));
}

TEST_CASE("story: what happens when it has waited long enough", "[core]") {
  auto job = chronicle_fixture{};
  SECTION("with agents of another coordinator, it goes on") {
    auto plan = generation_plan{};
    plan.generation = {9};
    plan.node_count = 3;
    plan.world_size = 3;
    plan.own.agent = {"a"};
    plan.own.slot_count = 1;
    plan.own.role_world_size = 3;
    job.begin();
    job.note(0ms, coordinator_started{true});
    job.note(0ms, job.rejoin("a", plan, share_state::running));
    CHECK(sentence(job, 1s)
          == "Listening for agents of an earlier coordinator, for 1.0 s; it "
             "goes on in 200.0 ms.");
  }
  SECTION("with workers of another generation, it waits as long as it takes") {
    job.run_noted();
    for (const auto* agent : {"a", "b", "c"})
      job.note(4s, job.left(agent));
    auto plan = job.announced;
    plan.generation = {9};
    plan.own.agent = {"d"};
    job.note(5s, job.rejoin("d", plan, share_state::running));
    job.note(5s, job.join("e"));
    CHECK(sentence(job, 6s)
          == "1 node stops its workers of an older generation, for 2.0 s.");
  }
}

TEST_CASE("story: the root cause, what failed because of it, and the cost",
          "[core]") {
  auto job = chronicle_fixture{};
  job.run_noted();
  CHECK(
    sentence(job, 1s)
    == "Generation 1 runs with 3 workers on 3 nodes, 0 restarts of 1 spent.");
  CHECK(
    journal::is_healthy(job.chronicle.now(), job.chronicle.now().latest.when));
  auto killed = death("c", 2, 3'100ms);
  killed.failure.kind = failure_kind::signalled;
  killed.failure.code = SIGKILL;
  killed.failure.details.out_of_memory = true;
  killed.failure.details.message = "cgroup limit 512 MiB";
  job.note(10s, death("a", 0, 0ms, "connection closed"));
  job.note(10s, death("b", 1, 0ms));
  job.note(10s, killed);
  job.stop_noted(10s);
  for (const auto* agent : {"a", "b", "c"})
    job.note(10'400ms, workers_started{{agent}, {2}, {1}});
  const auto x = why(job.chronicle.now(), time_point{11s});
  CHECK(
    x.sentence
    == "Generation 2 runs with 3 workers on 3 nodes, 1 restart of 1 spent. "
       "Generation 1 ended: rank 2 on node-c was killed by the kernel for "
       "memory "
       "(cgroup limit 512 MiB), 3.1 s before ranks 0-1 failed, 1 of them on "
       "closed connections; this cost restart 1 of 1; the next one ran "
       "400.0 ms later.");
  REQUIRE(x.cause);
  CHECK(x.cause->what == journal::culprit::kind::worker);
  CHECK(x.cause->host == "node-c");
  CHECK(x.cause->failure->global_rank == 2);
  CHECK(x.cause->failed_after_it == std::vector<uint32_t>{0, 1});
  CHECK(x.generation == generation_id{1});
  CHECK(has(x, "connection closed"));
  CHECK(has(x, "memory"));
}

TEST_CASE("story: a node that was lost, and not the workers that noticed it, "
          "is the cause",
          "[core]") {
  auto job = chronicle_fixture{};
  job.run_noted();
  job.note(1s, death("b", 1, 0ms));
  job.note(1s, job.disconnect("a"));
  job.note(1s, job.lose("a"));
  job.note(1'040ms, job.join("d"));
  job.note(1'050ms, job.stopped("b", 1));
  job.note(1'050ms, job.stopped("c", 1));
  const auto x = why_generation(job.chronicle.now(), 0);
  CHECK(x.sentence
        == "Generation 1 ended: node node-a (rank 0) was lost: connection "
           "refused; rank 1 failed meanwhile; this cost no restart.");
  CHECK(x.cause->what == journal::culprit::kind::node_lost);
  CHECK(x.cause->host == "node-a");
  CHECK(x.cause->failed_after_it == std::vector<uint32_t>{1});
  CHECK(has(x, "node: agent a on node-a was lost: connection refused"));
  CHECK(has(x, "rank 1 (local rank 0, pid 4711) on node-b exited with code 7"));
  for (const auto* agent : {"b", "c", "d"})
    job.note(1'060ms, workers_started{{agent}, {2}, {1}});
  job.note(2s, job.disconnect("d"));
  job.note(2s, job.lose("d"));
  CHECK(why_generation(job.chronicle.now(), 1).cause->host == "node-d");
}

TEST_CASE("story: the end of a job", "[core]") {
  auto job = chronicle_fixture{{2, 3, 0}};
  job.run_noted();
  SECTION("failed") {
    job.note(1s, death("b", 1, 0ms, "ValueError: no data"));
    job.stop_noted(1s);
    const auto x = why(job.chronicle.now(), time_point{2s});
    CHECK(
      x.sentence
      == "The job failed. Generation 1 ended: rank 1 on node-b exited with "
         "code 7: "
         "ValueError: no data; --max-restarts is 0, so it is not restarted.");
    CHECK(has(x, "message: ValueError: no data"));
  }
  SECTION("succeeded") {
    for (const auto* agent : {"a", "b", "c"})
      job.note(1s, job.succeeded(agent, 1));
    CHECK(
      sentence(job, 2s)
      == "The job succeeded: all workers of generation 1 succeeded, 0 restarts "
         "of 0 spent.");
    CHECK(journal::is_healthy(job.chronicle.now(),
                              job.chronicle.now().latest.when));
  }
  SECTION("stopped") {
    job.note(1s, stop_requested{SIGTERM});
    CHECK(sentence(job, 2s)
          == "The job was stopped: n0, where its coordinator was, got SIGTERM "
             "(signal 15).");
    const auto x = why(job.chronicle.now(), time_point{2s});
    CHECK(x.cause->what == journal::culprit::kind::operator_stop);
  }
  SECTION("stopped by an operator") {
    job.note(1s, stop_requested{SIGTERM, "alice", "enough"});
    CHECK(sentence(job, 2s) == "The job was stopped by alice: enough.");
  }
}

TEST_CASE("story: of all generations, none is told of twice", "[core]") {
  auto job = chronicle_fixture{};
  job.run_noted();
  const auto told = [&](std::chrono::milliseconds now) {
    auto out = std::vector<std::string>{};
    for (const auto& x : journal::why_all(job.chronicle.now(), time_point{now}))
      out.push_back(x.sentence.substr(0, 17));
    return out;
  };
  using texts = std::vector<std::string>;
  CHECK(told(1s) == texts{"Generation 1 runs"});
  job.note(1s, job.failed("b", 1));
  job.stop_noted(1s);
  for (const auto* agent : {"a", "b", "c"})
    job.note(1s, workers_started{{agent}, {2}, {1}});
  CHECK(told(2s) == texts{"Generation 1 ende", "Generation 2 runs"});
  job.note(3s, stop_requested{SIGTERM, "alice", ""});
  CHECK(told(4s).size() == 2);
  CHECK(told(4s).back() == "The job was stopp");
}

TEST_CASE("story: texts of workers cannot break lines or colour them",
          "[core]") {
  auto job = chronicle_fixture{{2, 3, 0}};
  job.run_noted();
  auto x = death("b", 1, 0ms, "a\nb\x1b[31mc");
  x.failure.details.traceback = "one\x1b]0;title\x07\ntwo\xff\n";
  x.failure.details.where = std::string(100'000, 'x');
  job.note(1s, x);
  job.stop_noted(1s);
  const auto told = why(job.chronicle.now(), time_point{2s});
  CHECK(told.sentence.find_first_of("\n\x1b") == std::string::npos);
  for (const auto& line : told.evidence) {
    CHECK(line.find_first_of("\n\x1b") == std::string::npos);
    CHECK(line.size() <= 512);
  }
}

TEST_CASE("story: a node that leaves is named with its signal", "[core]") {
  auto job = chronicle_fixture{{3, 3, 1}};
  job.run_noted();
  job.note(1s, job.leaving("b", 15));
  const auto during = why(job.chronicle.now(), time_point{1'500ms});
  CHECK(
    during.sentence
    == "Generation 1 is being stopped: node node-b (rank 1) left: its agent "
       "was sent SIGTERM (signal 15); 3 nodes have yet to stop their "
       "workers, for 500.0 ms.");
  CHECK(during.cause->what == journal::culprit::kind::node_left);
  job.note(2s, job.left("b"));
  job.note(2s, job.stopped("a", 1));
  job.note(2s, job.stopped("c", 1));
  const auto after = why(job.chronicle.now(), time_point{3s});
  CHECK(after.sentence
        == "Waiting for 1 more node (node-b is gone): 2 of 3 nodes are here, "
           "for 1.0 s; otherwise the job gives up in 9 min 59 s.");
  CHECK(has(after, "gone for 1.0 s: node-b"));
  CHECK(has(after, "before: Generation 1 ended: node node-b (rank 1) left"));
  CHECK(after.cause->host == "node-b");
}

TEST_CASE("story: what an operator has asked for is known from the protocol, "
          "not from words",
          "[core]") {
  using kind = journal::culprit::kind;
  auto job = chronicle_fixture{{2, 3, 1}};
  job.run_noted();
  const auto end
    = [&] { return *why_generation(job.chronicle.now(), 0).cause; };
  SECTION("another generation") {
    job.note(1s, restart_requested{"alice", "new data"});
    CHECK(end().what == kind::operator_stop);
    CHECK(end().reason == "restarted by alice: new data");
  }
  SECTION("fewer nodes") {
    job.note(1s, resize_requested{2, 2, "alice"});
    CHECK(end().what == kind::operator_stop);
    CHECK(end().reason == "resized to 2 nodes by alice");
  }
  SECTION("none of a host") {
    job.note(1s, exclusion_requested{"node-b", "alice", "bad disk"});
    CHECK(end().what == kind::operator_stop);
    CHECK(end().reason == "host node-b is excluded by alice: bad disk");
  }
  SECTION("a node that leaves") {
    job.note(1s, drain_requested{"b", 60s, false, "alice"});
    job.note(2s, job.leaving("b"));
    CHECK(end().what == kind::node_left);
    CHECK(end().host == "node-b");
    CHECK(end().reason == "left, as alice has asked");
  }
  SECTION("evidence that reads like a request") {
    job.note(1s, job.disconnect("b"));
    job.note(1s, agent_lost{{"b"}, "node x is to leave, asked for by alice"});
    CHECK(end().what == kind::node_lost);
    CHECK(end().host == "node-b");
  }
  SECTION("a host that reads like one") {
    auto x = job.join("b");
    x.offering.agent = {"d"};
    x.offering.host = "agent a left, restarted by alice";
    job.note(1s, job.disconnect("c"));
    job.note(1s, job.lose("c"));
    job.stop_noted(1s);
    job.note(2s, x);
    CHECK(end().what == kind::node_lost);
    CHECK(end().host == "node-c");
  }
}

TEST_CASE("story: a node that was cut off, and has given up", "[core]") {
  auto job = chronicle_fixture{};
  job.run_noted();
  job.note(1s, job.disconnect("b"));
  job.note(1s, job.rejoin("b", job.plan_of("b"), share_state::stopping));
  const auto x = why_generation(job.chronicle.now(), 0);
  CHECK(x.cause->what == journal::culprit::kind::node_lost);
  CHECK(
    x.sentence
    == "Generation 1 is being stopped: node node-b (rank 1) was cut off, and "
       "stopped its workers.");
}

TEST_CASE("story: programs that cannot be started need no restart", "[core]") {
  auto job = chronicle_fixture{{2, 3, 2}};
  job.begin();
  for (const auto* agent : {"a", "b", "c"})
    job.note(0ms, job.join(agent));
  auto x = death("a", 0, 0ms);
  x.failure.kind = failure_kind::not_started;
  x.failure.code = ENOENT;
  x.failure.details.subject = "/opt/train";
  auto y = x;
  y.agent = {"b"};
  y.failure.global_rank = 2;
  job.note(1s, x);
  job.note(1s, y);
  job.stop_noted(1s);
  CHECK(sentence(job, 2s)
        == "The job failed. Generation 1 ended: rank 0 on node-a could not be "
           "started: /opt/train: No such file or directory, nor could rank 2; "
           "another start cannot help.");
}

TEST_CASE("story: who stands by, and who has yet to start", "[core]") {
  auto job = chronicle_fixture{{2, 2, 1}};
  job.begin();
  job.note(0ms, job.join("a"));
  job.note(0ms, job.join("b"));
  CHECK(
    sentence(job, 1s)
    == "Generation 1 starts: 2 of 2 nodes have yet to start their workers, for "
       "1.0 s.");
  job.note(1s, workers_started{{"a"}, {1}, {1}});
  CHECK(
    sentence(job, 1s)
    == "Generation 1 starts: 1 of 2 nodes has yet to start its workers, for "
       "1.0 s.");
  job.note(1s, workers_started{{"b"}, {1}, {1}});
  job.note(2s, job.join("c"));
  const auto x = why(job.chronicle.now(), time_point{5s});
  CHECK(has(x, "stands by for 3.0 s: node-c (c)"));
  CHECK_FALSE(x.cause);
}

TEST_CASE("story: a drain that waits is told, until it begins or is taken back",
          "[core]") {
  auto job = chronicle_fixture{};
  job.run_noted();
  job.note(1s, resize_requested{3, 3, "bob"});
  CHECK(job.note(2s, drain_requested{"node-c", 60s, true, "alice"})
        == "steered node");
  auto x = why(job.chronicle.now(), time_point{14s});
  CHECK(x.sentence
        == "Generation 1 runs with 3 workers on 3 nodes, 0 restarts of 1 spent."
           " Node node-c waits for a replacement, to leave, as alice has asked"
           " 12.0 s ago.");
  CHECK(has(x, "leaves when another node can take its place, as alice has asked"
               " 12.0 s ago: node-c (c)"));
  job.note(15s, drain_requested{"node-b", 60s, true, "bob"});
  CHECK(
    sentence(job, 16s).find("as alice has asked 14.0 s ago; so does 1 more.")
    != std::string::npos);
  CHECK(job.chronicle.now() == job.replayed());
  job.note(17s, drain_withdrawal_requested{"node-b", "bob"});
  job.note(17s, drain_withdrawal_requested{"node-c", "bob"});
  x = why(job.chronicle.now(), time_point{17s});
  CHECK(x.sentence.find("replacement") == std::string::npos);
  CHECK(x.evidence.empty());
  CHECK(job.chronicle.now() == job.replayed());
}

TEST_CASE("story: what operators ask for is their deed", "[core]") {
  auto job = chronicle_fixture{};
  job.run_noted();
  SECTION("a restart") {
    job.note(1s, restart_requested{"alice", "again"});
  }
  SECTION("another number of nodes") {
    job.note(1s, resize_requested{1, 2, "alice"});
  }
  SECTION("an exclusion") {
    job.note(1s, resize_requested{1, 3, "alice"});
    job.note(1s, exclusion_requested{"node-c", "alice", "bad disk"});
  }
  const auto x = why_generation(job.chronicle.now(), 0);
  REQUIRE(x.cause);
  CHECK(to_string(x.cause->what) == "operator");
  CHECK(x.cause->reason.find("alice") != std::string::npos);
}

TEST_CASE("story: a GPU's trouble is told with the failure that follows it",
          "[core]") {
  auto job = chronicle_fixture{{2, 3, 0}};
  job.run_noted();
  const auto note = [&](const char* agent, const std::string& text) {
    job.keep(job.chronicle.note_gpus({agent}, text, job.moment_at(1s)));
  };
  note("b", "GPU 1: XID 79: has fallen off the bus");
  note("b", "GPU 1: XID 79: has fallen off the bus"); // Is not new.
  note("x", "GPU 1: is nowhere");
  note("c", "GPU 0: is hot");
  note("c", "");
  CHECK(job.name_of(*job.records.back().what) == "gpus");
  CHECK(job.chronicle.now() == job.replayed());
  CHECK_FALSE(job.chronicle.now().nodes.at({"c"}).gpus);
  job.note(3s, death("b", 2, 500ms));
  job.stop_noted(3s);
  const auto x = why(job.chronicle.now(), time_point{4s});
  CHECK(x.sentence
        == "The job failed. Generation 1 ended: rank 2 on node-b exited with "
           "code 7, "
           "1.5 s after trouble there (GPU 1: XID 79: has fallen off the bus); "
           "--max-restarts is 0, so it is not restarted.");
  CHECK(has(x, "GPUs of node-b: GPU 1: XID 79: has fallen off the bus"));
}

TEST_CASE("story: a generation that hangs runs, and is not healthy", "[core]") {
  auto job = chronicle_fixture{{2, 3, 1}};
  job.run_noted();
  CHECK(
    journal::is_healthy(job.chronicle.now(), job.chronicle.now().latest.when));
  const auto at = job.moment_at(60s);
  job.keep(
    job.chronicle.note_hang({{1},
                             50s,
                             "no worker has shown a sign of life for 50 s",
                             "ranks 0-2 in futex_wait"},
                            at));
  CHECK(job.chronicle.now() == job.replayed());
  CHECK_FALSE(
    journal::is_healthy(job.chronicle.now(), job.chronicle.now().latest.when));
  CHECK(sentence(job, 61s).find(
          ", but hangs: no worker has shown a sign of life for "
          "50 s.")
        != std::string::npos);
  CHECK(has(why(job.chronicle.now(), time_point{61s}),
            "  ranks 0-2 in futex_wait"));
  SECTION("it is heard again") {
    job.keep(job.chronicle.note_hang({{1}, 0s, ""}, job.moment_at(62s)));
    CHECK(journal::is_healthy(job.chronicle.now(),
                              job.chronicle.now().latest.when));
    CHECK(sentence(job, 63s).find("hangs") == std::string::npos);
  }
  SECTION("its end ends the hang") {
    job.note(62s, death("b", 2, 500ms));
    CHECK_FALSE(job.chronicle.now().hang);
  }
  CHECK(job.chronicle.now() == job.replayed());
}

TEST_CASE("story: workers that are slower than the others are told, and the "
          "job is healthy",
          "[core]") {
  auto job = chronicle_fixture{{2, 3, 1}};
  job.run_noted();
  const auto slow
    = [&](std::chrono::milliseconds t, std::vector<straggler> named) {
        const auto count = uint32_t(named.size());
        job.keep(job.chronicle.note_stragglers({{1}, std::move(named), count},
                                               job.moment_at(t)));
      };
  slow(60s, {{2, "node-b", 121ms, 100ms}});
  CHECK(journal::is_healthy(job.chronicle.now(), time_point{} + 61s));
  CHECK(sentence(job, 61s).find(
          "; rank 2 on node-b computes for 121.0 ms per step, the others for "
          "100.0 ms.")
        != std::string::npos);
  slow(70s, {{5, "node-c", 130ms, 100ms}, {2, "node-b", 121ms, 100ms}});
  const auto& known = job.chronicle.now().stragglers;
  REQUIRE(known.size() == 2);
  CHECK(known[0].since == job.moment_at(70s));
  CHECK(known[1].since == job.moment_at(60s));
  SECTION("they are as fast as the others again") {
    slow(80s, {});
    CHECK(journal::slow_sentence(job.chronicle.now()).empty());
  }
  SECTION("they end with their generation") {
    job.note(80s, death("b", 2, 500ms));
    CHECK(job.chronicle.now().stragglers.empty());
    CHECK(job.chronicle.now().straggler_count == 0);
  }
  CHECK(job.chronicle.now() == job.replayed());
}

TEST_CASE("story: names of hosts and agents cannot colour a terminal",
          "[core]") {
  auto job = chronicle_fixture{{2, 3, 0}};
  job.begin();
  for (const auto* agent : {"a", "b", "c"}) {
    auto x = job.join(agent);
    x.offering.host = std::string{"n\x1b[31m\n"} + agent;
    job.note(0ms, x);
  }
  const auto is_clean = [](const journal::explanation& x) {
    auto all = x.sentence + (x.cause ? x.cause->host + x.cause->reason : "");
    for (const auto& line : x.evidence)
      all += line;
    return all.find_first_of("\n\x1b") == std::string::npos;
  };
  CHECK(is_clean(why(job.chronicle.now(), time_point{1s})));
  job.note(1s, job.disconnect("a"));
  job.note(1s, job.lose("a"));
  CHECK(is_clean(why(job.chronicle.now(), time_point{1s})));
  CHECK(is_clean(why_generation(job.chronicle.now(), 0)));
}

TEST_CASE("story: a worker that says no more is quoted", "[core]") {
  auto job = chronicle_fixture{{2, 3, 0}};
  job.run_noted();
  auto x = death("b", 1, 0ms);
  x.failure.details.is_from_stderr = true;
  x.failure.details.traceback = "Traceback (most recent call last):\n  main()\n"
                                "OSError: [Errno 98] Address already in use\n";
  job.note(1s, x);
  job.stop_noted(1s);
  const auto told = why(job.chronicle.now(), time_point{2s});
  CHECK(told.sentence
        == "The job failed. Generation 1 ended: rank 1 on node-b exited with "
           "code 7 "
           "(\"OSError: [Errno 98] Address already in use\"); --max-restarts "
           "is 0, so it is not restarted.");
  CHECK(has(told, "its last lines:"));
}

TEST_CASE("story: a worker that misses a peer is not said to be the first",
          "[core]") {
  auto job = chronicle_fixture{{2, 3, 0}};
  job.run_noted();
  job.note(1s, death("b", 1, 0ms, "RuntimeError: Connection closed by peer"));
  SECTION("when none else is known") {
    job.stop_noted(1s);
    CHECK(
      sentence(job, 2s)
      == "The job failed. Generation 1 ended: rank 1 on node-b exited with "
         "code "
         "7: RuntimeError: Connection closed by peer; it lost a connection "
         "to a worker whose own end was not reported, which may have failed "
         "first; --max-restarts is 0, so it is not restarted.");
  }
  SECTION("when another died at that moment") {
    job.note(1'010ms, death("a", 0, 0ms));
    job.stop_noted(1'010ms);
    CHECK(sentence(job, 2s)
          == "The job failed. Generation 1 ended: rank 0 on node-a exited with "
             "code "
             "7, and rank 1 failed on closed connections; --max-restarts is 0, "
             "so it is not restarted.");
  }
}

TEST_CASE("story: a worker whose program has not begun is not quoted as well"
          " (U17)",
          "[core]") {
  auto job = chronicle_fixture{{2, 3, 0}};
  job.run_noted();
  auto x = death("b", 1, 0ms);
  x.failure.code = 1;
  x.failure.details.is_from_stderr = true;
  x.failure.details.traceback = "  File \"/x/bad.py\", line 3\n"
                                "    def f(:\n"
                                "SyntaxError: invalid syntax\n";
  job.note(1s, x);
  job.stop_noted(1s);
  CHECK(
    sentence(job, 2s)
    == "The job failed. Generation 1 ended: rank 1 on node-b exited with "
       "code 1, probably before its program began: SyntaxError: invalid syntax "
       "(bad.py, line 3); --max-restarts is 0, so it is not restarted.");
}

namespace {

journal::leader_chosen chosen(leader_change::kind what) {
  return {.agent = {"n2-4712"},
          .term = 2,
          .by = leader_source::voters,
          .what = what,
          .from = {"n1-4711"},
          .silent_for = std::chrono::milliseconds{400},
          .reason = "its node leaves the job"};
}

} // namespace

TEST_CASE("story: a change of the leader is told with its cause", "[core]") {
  using kind = leader_change::kind;
  auto job = chronicle_fixture{};
  job.begin();
  SECTION("the first one is no change") {
    job.keep(
      job.chronicle.note_leader(chosen(kind::began), job.moment_at(0ms)));
    const auto x = why(job.chronicle.now(), time_point{5s});
    CHECK(x.sentence == "The coordinator has just begun.");
    CHECK(has(x,
              "leader: n2-4712, term 2, elected by the agents 5.0 s ago: the "
              "job has begun with it"));
  }
  SECTION("another one says what has become of the last") {
    job.keep(
      job.chronicle.note_leader(chosen(kind::silent), job.moment_at(0ms)));
    const auto told
      = journal::voters_changed{2, {{"n2-4712"}, {"n3-4713"}}, {{"n4-4714"}}};
    CHECK(job.chronicle.note_voters(told, job.moment_at(1s)).size() == 1);
    CHECK(job.chronicle.note_voters(told, job.moment_at(2s)).empty());
    for (const auto* agent : {"a", "b", "c"})
      job.note(0ms, job.join(agent));
    for (const auto* agent : {"a", "b", "c"})
      job.note(100ms, workers_started{{agent}, {1}, {1'000, 1'001}});
    const auto x = why(job.chronicle.now(), time_point{5s});
    CHECK(x.sentence.ends_with(" n2-4712 leads the job, for 5.0 s: n1-4711 was "
                               "silent for 400.0 ms."));
    CHECK(has(x, "voters: n2-4712, n3-4713; can lead, too: n4-4714"));
    const auto all = journal::why_all(job.chronicle.now(), time_point{5s});
    CHECK(all.back().sentence.ends_with("was silent for 400.0 ms."));
    job.note(6s, job.left("c"));
    job.stop_noted(6s);
    CHECK(sentence(job, 7s).ends_with("was silent for 400.0 ms."));
    CHECK(journal::state_of(job.chronicle.now()) != "moved");
  }
  SECTION("etcd's leader may have no agent") {
    auto x = chosen(kind::expired);
    x.agent = {};
    x.from = {};
    x.by = leader_source::registry;
    job.keep(job.chronicle.note_leader(x, job.moment_at(0ms)));
    CHECK(sentence(job, 5s)
          == "The coordinator has just begun. n0 leads the job, for 5.0 s: the "
             "lease of the last leader in etcd was over, or it had left.");
    CHECK(has(why(job.chronicle.now(), time_point{5s}), "elected by etcd"));
  }
}

TEST_CASE("story: a coordinator that leads no more says so", "[core]") {
  auto job = chronicle_fixture{};
  job.run_noted();
  job.keep(job.chronicle.note_leader(chosen(leader_change::kind::began),
                                     job.moment_at(1s)));
  auto now = job.chronicle.now();
  now.apply({now.number + 1, job.moment_at(2s),
             journal::leadership_given_up{"another agent takes over"}});
  const auto x = why(now, time_point{5s});
  CHECK(x.sentence
        == "The coordinator on n0 leads the job no more, for 3.0 s: another "
           "agent takes over. How the job goes on, the coordinator of another "
           "node knows.");
  CHECK(x.generation == generation_id{1});
  CHECK(has(x, "leader: n2-4712, term 2"));
  CHECK(journal::why_all(now, time_point{5s}).back().sentence == x.sentence);
  CHECK(journal::state_of(now) == "moved");
  CHECK_FALSE(journal::is_healthy(now, now.latest.when));
}

TEST_CASE("story: the class of an end is told with its evidence", "[core]") {
  auto job = chronicle_fixture{{2, 3, 5}};
  job.run_noted();
  job.note(3s, death("b", 2, 500ms));
  job.stop_noted(3s);
  CHECK(job.chronicle.now() == job.replayed());
  CHECK(job.chronicle.now().ends.of[size_t(end_class::program)] == 1);
  const auto x = why_generation(job.chronicle.now(), 0);
  CHECK(has(x, "class: program (exit code 7)"));
  CHECK_FALSE(has(x, "alike"));
}

TEST_CASE("story: a job that goes round in a loop is not healthy", "[core]") {
  auto job = chronicle_fixture{{2, 3, 9}};
  job.run_noted();
  const auto healthy = [&](std::chrono::milliseconds now) {
    return journal::is_healthy(job.chronicle.now(), time_point{now});
  };
  for (uint64_t i = 1; i <= 3; ++i) {
    CHECK(healthy(i * 10s));
    job.note(i * 10s, job.failed("b", i));
    job.stop_noted(i * 10s, i);
    for (const auto* agent : {"a", "b", "c"})
      job.note(i * 10s, job.started(agent, i + 1));
  }
  CHECK(job.chronicle.now() == job.replayed());
  CHECK_FALSE(healthy(31s));
  CHECK(sentence(job, 31s).find(
          "The job goes round in a loop: 3 ends alike: rank 1 on node-b exited "
          "with code 7 after 10.0 s.")
        != std::string::npos);
  CHECK(journal::loop_of(job.chronicle.now(), time_point{31s})->alike_count
        == 3);
  CHECK_FALSE(healthy(30s + 9min));
  CHECK(healthy(30s + 10min)); // It has run for so long.
}

TEST_CASE("story: who ends a job by a rule names it", "[core]") {
  auto job = chronicle_fixture{{2, 3, 5}};
  auto rules = restart_rules{};
  rules.actions[size_t(end_class::node)] = end_action::stop;
  job.replace({2, 3, 5}, rules);
  job.run_noted();
  job.note(2s, job.disconnect("c"));
  job.note(2s, job.lose("c"));
  job.note(2s, job.stopped("a", 1));
  job.note(2s, job.stopped("b", 1));
  CHECK(job.chronicle.now() == job.replayed());
  const auto x = why(job.chronicle.now(), time_point{3s});
  CHECK(x.sentence
        == "The job failed. Generation 1 ended: node node-c (rank 2) was lost: "
           "connection refused; this cost no restart. It is not restarted: "
           "--on-failure=node:stop.");
  CHECK(has(x, "class: node (connection refused)"));
}

} // namespace actorrun::test::story_test
