// How the coordinator combines the failures of several agents, and what it
// reports of them.

#include "tests/actors/coordinator_fixture.hpp"

#include <string>

namespace actorrun::test::coordinator_causes_test {

using namespace std::chrono_literals;

namespace {

/// No restart is left.
struct last_try : coordinator_fixture {
  last_try() : coordinator_fixture{{2, 2, 0}} { run_two_leased(); }

  core::worker_failure huge_failure_of(const std::string& id) const {
    auto x = failure_of(id);
    x.details.message = std::string(core::failure_message_max, 'm');
    x.details.traceback = std::string(core::failure_traceback_max, 't');
    x.details.error_file = std::string(core::failure_path_max, 'e');
    return x;
  }
};

constexpr auto line_of_1
  = "rank 1 (local rank 1, pid 101) on node-1 exited with code 7";
constexpr auto line_of_2
  = "rank 1 (local rank 1, pid 101) on node-2 exited with code 7";

} // namespace

TEST_CASE_METHOD(last_try, "coordinator: every agent learns the root cause",
                 "[actors]") {
  failed(b, "2", 1, 1ms);
  CHECK(a.told() == std::string{"revoked 1: "} + line_of_2);
  b.told();
  advance(10ms);
  failed(a, "1", 1, 50ms); // Reported later, but died first.
  stopped(a, "1", 1);
  advance(5ms);
  stopped(b, "2", 1, {{failure_of("2", 2ms)}, 3});
  CHECK(a.told() == std::string{"ended failed: "} + line_of_1);
  CHECK(b.told() == std::string{"ended failed: "} + line_of_1);
  leave(a, "1", true);
  leave(b, "2", true);
  REQUIRE(closed->size() == 1);
  const auto& how = closed->front();
  CHECK(how.first_failure == failure_of("1", 55ms));
  REQUIRE(how.other_failures.size() == 1); // One worker dies once.
  CHECK(how.other_failures[0] == failure_of("2", 16ms));
  CHECK(how.unlisted_failure_count == 3);
}

TEST_CASE_METHOD(
  coordinator_fixture,
  "coordinator: its log names the root cause, one line per failure",
  "[actors]") {
  run_two();
  lines.told();
  failed(b, "2", 1, 1ms);
  auto first = failure_of("1", 50ms);
  first.details.message = "two\nlines";
  failed(a, "1", 1, first);
  stopped(a, "1", 1);
  stopped(b, "2", 1);
  CHECK(lines.told()
        == std::string{"warning coordinator stops generation 1: "} + line_of_2
             + "\nwarning root cause in generation 1: " + line_of_1
             + ": two lines; 1 more worker failed after it\n"
               "info coordinator notes that in generation 1 "
             + line_of_2
             + "\ninfo coordinator forms generation 2: 2 nodes, world size 4, "
               "restarts spent 1 of 1 ("
             + line_of_1 + ": two lines)\n");
}

TEST_CASE("coordinator: failures that it exempts are in its log", "[actors]") {
  auto job = coordinator_fixture{{1, 2, 1}};
  job.run_two();
  job.lines.told();
  job.failed(job.b, "2", 1, 1ms);
  job.leave(job.a, "1", true);
  job.stopped(job.b, "2", 1);
  const auto text = job.lines.told();
  INFO(text);
  CHECK(text.find(std::string{"\nwarning root cause in generation 1: "}
                  + line_of_2 + "; costs no restart: agent 1 left\n")
        != std::string::npos);
}

TEST_CASE_METHOD(last_try, "coordinator: a revocation gives the cause in brief",
                 "[actors]") {
  failed(b, "2", 1, huge_failure_of("2"));
  const auto& details = a.revoked->failure().details();
  CHECK(details.message().size() == core::brief_message_max);
  CHECK(details.traceback().size() == core::brief_traceback_max);
  CHECK(a.revoked->failure().code() == 7);
  // The line in its reason is readable text.
  CHECK(a.told().size() < 500);
}

TEST_CASE_METHOD(last_try, "coordinator: the status shows the cause in full",
                 "[actors]") {
  auto failure = failure_of("2");
  failure.details.message = "RuntimeError: no data";
  failure.details.traceback = "line 1\nline 2";
  failed(b, "2", 1, failure);
  CHECK(from_wire(status().last_failure()).details == failure.details);
}

TEST_CASE_METHOD(last_try,
                 "coordinator: the status counts what failed after the first",
                 "[actors]") {
  failed(b, "2", 1, huge_failure_of("2"));
  auto others = core::collateral{};
  for (uint32_t i = 0; i < core::other_failures_max; ++i) {
    others.add(huge_failure_of("1"));
    others.listed.back().local_rank = i;
  }
  stopped(a, "1", 1, others);
  stopped(b, "2", 1);
  const auto seen = status();
  CHECK(seen.ByteSizeLong() <= v1::message_size_max);
  CHECK_FALSE(seen.truncated());
  CHECK(seen.agents_size() == 2);
  CHECK(seen.outcome().first_failure().details().traceback().size()
        == core::failure_traceback_max);
  CHECK(seen.outcome().others().listed_size() == 0);
  CHECK(seen.outcome().others().unlisted_count() == core::other_failures_max);
}

} // namespace actorrun::test::coordinator_causes_test
