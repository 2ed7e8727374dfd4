#include "actors/core/protocol/agent_lease.hpp"
#include "tests/support/catch.hpp"

#include <csignal>

namespace actorrun::test::agent_lease_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

constexpr auto start = time_point{} + 1h;

struct fixture {
  agent_lease uut;

  fixture() {
    uut.ask_to_join(start);
    uut.begin(300ms, 900ms, 0ms, false, start + 10ms);
  }
};

} // namespace

TEST_CASE("agent_lease: there is no fence before the first acceptance",
          "[core]") {
  auto uut = agent_lease{};
  CHECK_FALSE(uut.is_over(start));
  CHECK_FALSE(uut.has_keep_alives());
}

TEST_CASE("agent_lease: without keep-alives no fence falls", "[core]") {
  auto uut = agent_lease{};
  uut.ask_to_join(start);
  uut.begin(0ms, 900ms, 0ms, true, start);
  CHECK_FALSE(uut.is_over(start + 1h));
}

TEST_CASE_METHOD(fixture, "agent_lease: it runs from what was sent", "[core]") {
  CHECK(uut.due() == start + 900ms);
  uut.ask_for_proof(start + 310ms);
  CHECK_FALSE(uut.take_proof(start + 309ms)); // Another question.
  REQUIRE(uut.take_proof(start + 310ms));
  CHECK(uut.take_answer(start + 310ms, start + 500ms));
  CHECK(uut.extend(start + 310ms + uut.fence(), true, start + 500ms));
  CHECK(uut.due() == start + 1'210ms);
  CHECK_FALSE(uut.take_answer(start + 310ms, start + 600ms)); // Once.
}

// Whoever answers may lead no more, and another one counts from there.
TEST_CASE_METHOD(fixture, "agent_lease: an answer has an age", "[core]") {
  CHECK(uut.fence_of(200ms) == 700ms);
  CHECK(uut.fence_of(900ms) == 0ms);
  CHECK(uut.fence_of(1h) == 0ms);
  uut.ask_to_join(start + 500ms);
  uut.begin(300ms, 900ms, 340ms, true, start + 510ms);
  CHECK(uut.due() == start + 1'060ms);
}

TEST_CASE_METHOD(fixture,
                 "agent_lease: the last answer counts for as long as a fence",
                 "[core]") {
  const auto running = std::optional{generation_id{1}};
  uut.take_answer(start, start + 500ms);
  CHECK(uut.holds_until(running, true, start + 899ms) == start + 900ms);
  const auto fallen = start + 900ms;
  CHECK_FALSE(uut.holds_until(running, true, fallen));
  CHECK(uut.holds_until(std::nullopt, true, fallen) == start + 1'400ms);
  CHECK_FALSE(uut.holds_until(std::nullopt, false, fallen));
  uut.kill(*running);
  CHECK(uut.holds_until(running, true, fallen) == start + 1'400ms);
  CHECK_FALSE(uut.holds_until(running, true, start + 1'400ms));
}

TEST_CASE_METHOD(fixture, "agent_lease: past it a death is an ordered one",
                 "[core]") {
  auto x = worker_failure{};
  x.kind = failure_kind::signalled;
  x.code = SIGKILL;
  CHECK_FALSE(uut.has_killed(x, start + 899ms));
  CHECK(uut.has_killed(x, start + 900ms));
  x.age = 1ms;
  CHECK_FALSE(uut.has_killed(x, start + 900ms));
  x.code = SIGSEGV;
  CHECK_FALSE(uut.has_killed(x, start + 1h));
}

TEST_CASE_METHOD(fixture, "agent_lease: nothing revives workers", "[core]") {
  const auto late = start + 2s;
  REQUIRE(uut.is_over(late));
  CHECK_FALSE(uut.extend(start + 3s, true, late));
  uut.ask_to_join(late);
  uut.begin(300ms, 900ms, 0ms, true, late);
  CHECK(uut.is_over(late));
  CHECK(uut.extend(start + 3s, false, late));
}

TEST_CASE_METHOD(fixture, "agent_lease: one keep-alive is on its way",
                 "[core]") {
  auto beat = uut.take_beat(start + 310ms);
  CHECK(beat.is_proof_due);
  CHECK_FALSE(beat.repeated);
  CHECK(beat.next == start + 610ms);
  uut.ask_for_proof(start + 310ms);
  REQUIRE(uut.take_proof(start + 310ms));
  // It is repeated until it is answered …
  CHECK(uut.repeat_after() == 120ms);
  beat = uut.take_beat(start + 430ms);
  CHECK(beat.repeated == start + 310ms);
  CHECK_FALSE(beat.is_proof_due);
  CHECK(beat.next == start + 550ms);
  // … and the next one, which is due by then, waits.
  beat = uut.take_beat(start + 610ms);
  CHECK(beat.repeated == start + 310ms);
  CHECK_FALSE(beat.is_proof_due);
  CHECK(uut.take_answer(start + 310ms, start + 620ms));
  CHECK(uut.take_overdue());
  CHECK_FALSE(uut.take_overdue());
}

TEST_CASE_METHOD(fixture, "agent_lease: it is silent from half of the fence on",
                 "[core]") {
  CHECK_FALSE(uut.is_silent(start + 800ms)); // None is on its way.
  uut.ask_for_proof(start + 310ms);
  REQUIRE(uut.take_proof(start + 310ms));
  CHECK_FALSE(uut.is_silent(start + 549ms));
  CHECK(uut.is_silent(start + 550ms)); // Repeated twice.
}

} // namespace actorrun::test::agent_lease_test
