// Tests how the coordinator compares workers by what their agents say.
#include "tests/actors/coordinator_fixture.hpp"

namespace actorrun::test::coordinator_stragglers_test {

namespace {

/// Agents `1` and `2` with two workers each: ranks 0-1 and 2-3.
struct stragglers_fixture : coordinator_fixture {
  /// How long its two workers compute, in ms.
  void say(const agent_recorder& from, const std::string& id,
           std::pair<int, int> compute,
           v1::StragglerAction action = v1::STRAGGLER_REPORT,
           uint64_t generation = 1) {
    auto x = v1::WorkerPaces{};
    x.set_agent_id(id);
    x.set_generation(generation);
    auto rank = id == "1" ? 0U : 2U;
    for (const auto ms : {compute.first, compute.second}) {
      auto& worker = *x.add_workers();
      worker.set_rank(rank++);
      worker.set_compute_ns(uint64_t(ms) * 1'000'000);
      worker.set_least_ns(uint64_t(ms) * 1'000'000);
    }
    x.set_distance(6);
    x.set_windows(5);
    x.set_action(action);
    send(from.handle, uut, x);
  }

  std::string said() const { return lines.told(); }

  std::string slow_after(caf::timespan time) {
    advance(time);
    return status().slow();
  }
};

} // namespace

TEST_CASE_METHOD(stragglers_fixture,
                 "coordinator: a worker that is slower than the others is "
                 "named, until it is not",
                 "[actors]") {
  run_two();
  say(a, "1", {100, 101});
  say(b, "2", {100, 121});
  CHECK(slow_after(249ms).empty());
  CHECK(slow_after(1ms)
        == "rank 3 on node-2 computes for 121.0 ms per step, the others for "
           "100.0 ms");
  CHECK(said().find("generation 1: rank 3 on node-2 computes for")
        != std::string::npos);
  const auto seen = status();
  REQUIRE(seen.stragglers_size() == 1);
  CHECK(seen.stragglers(0).rank() == 3);
  CHECK(seen.stragglers(0).host() == "node-2");
  CHECK(seen.stragglers(0).compute_us() == 121'000);
  CHECK(seen.stragglers(0).usual_us() == 100'000);
  CHECK(seen.is_healthy());
  say(b, "2", {100, 101});
  CHECK(slow_after(250ms).empty());
  CHECK(said().find("no worker is slower than the others any more")
        != std::string::npos);
}

TEST_CASE_METHOD(stragglers_fixture,
                 "coordinator: its node is checked where that is asked",
                 "[actors]") {
  run_two();
  say(a, "1", {100, 101});
  say(b, "2", {100, 121}, v1::STRAGGLER_CHECK);
  a.told();
  b.told();
  advance(250ms);
  CHECK(b.told() == "check beside");
  CHECK(a.told().empty());
  say(b, "2", {100, 140}, v1::STRAGGLER_CHECK); // It is known.
  advance(250ms);
  CHECK(b.told().empty());
}

TEST_CASE_METHOD(stragglers_fixture,
                 "coordinator: its node leaves when another can take its place",
                 "[actors]") {
  run_two_leased();
  say(a, "1", {100, 101});
  say(b, "2", {100, 121}, v1::STRAGGLER_DRAIN);
  advance(250ms);
  CHECK(said().find("coordinator obeys --on-straggler (drain 2")
        != std::string::npos);
  CHECK(status().agents(1).has_drain_asked_age_ms());
  CHECK_FALSE(status().agents(0).has_drain_asked_age_ms());
}

TEST_CASE_METHOD(stragglers_fixture,
                 "coordinator: an agent that is gone is compared no more, nor "
                 "what it says of others or of another generation",
                 "[actors]") {
  run_two();
  SECTION("another generation") {
    say(a, "1", {100, 101});
    say(b, "2", {100, 121}, v1::STRAGGLER_REPORT, 2);
  }
  SECTION("another agent's") {
    say(a, "1", {100, 101});
    say(a, "2", {100, 121});
  }
  CHECK(slow_after(10s).empty());
}

} // namespace actorrun::test::coordinator_stragglers_test
