#include "actors/core/journal/story.hpp"
#include "tests/support/chronicle_fixture.hpp"

#include <csignal>

using namespace actorrun;
using namespace actorrun::test;
using journal::why;
using journal::why_epoch;

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
  CHECK_FALSE(journal::is_healthy(job.chronicle.now()));
}

TEST_CASE("story: the root cause, what failed because of it, and the cost",
          "[core]") {
  auto job = chronicle_fixture{};
  job.run_noted();
  CHECK(sentence(job, 1s)
        == "Epoch 1 runs with 3 workers on 3 nodes, 0 restarts of 1 spent.");
  CHECK(journal::is_healthy(job.chronicle.now()));
  auto killed = death("c", 2, 3'100ms);
  killed.failure.kind = failure_kind::signalled;
  killed.failure.code = SIGKILL;
  killed.failure.details.out_of_memory = true;
  job.note(10s, death("a", 0, 0ms, "connection closed"));
  job.note(10s, death("b", 1, 0ms));
  job.note(10s, killed);
  job.stop_noted(10s);
  for (const auto* agent : {"a", "b", "c"})
    job.note(10'400ms, workers_started{{agent}, {2}, {1}});
  const auto x = why(job.chronicle.now(), time_point{11s});
  CHECK(x.sentence
        == "Epoch 2 runs with 3 workers on 3 nodes, 1 restart of 1 spent. "
           "Epoch 1 ended: rank 2 (local rank 0, pid 4711) on node-c was "
           "killed by SIGKILL (signal 9), killed by the kernel: out of memory, "
           "3.1 s before ranks 0-1 failed; this cost restart 1 of 1; the next "
           "one ran 400.0 ms later.");
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
  job.note(1'050ms, job.stopped("b", 1));
  job.note(1'050ms, job.stopped("c", 1));
  CHECK(why_epoch(job.chronicle.now(), 0).sentence
        == "Epoch 1 ended: agent a lost: connection refused; then rank 1 "
           "(local rank 0, pid 4711) on node-b exited with code 7; this cost "
           "no restart.");
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
      == "The job failed. Epoch 1 ended: rank 1 (local rank 0, pid 4711) on "
         "node-b exited with code 7: ValueError: no data; no restart was "
         "left (spent: 0 of 0).");
    CHECK(has(x, "message: ValueError: no data"));
  }
  SECTION("succeeded") {
    for (const auto* agent : {"a", "b", "c"})
      job.note(1s, job.succeeded(agent, 1));
    CHECK(sentence(job, 2s)
          == "The job succeeded: all workers of epoch 1 succeeded, 0 restarts "
             "of 0 spent.");
    CHECK(journal::is_healthy(job.chronicle.now()));
  }
  SECTION("stopped") {
    job.note(1s, stop_requested{SIGTERM});
    CHECK(sentence(job, 2s)
          == "The job was stopped: the job was asked to end by signal 15.");
  }
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
