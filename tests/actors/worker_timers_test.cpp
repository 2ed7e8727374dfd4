#include "actors/worker_timers.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/fake_node_vitals.hpp"

namespace actorrun::test::worker_timers_test {

using namespace std::chrono_literals;

namespace {

constexpr auto sampled = core::time_point{10s};

/// The workers 100 and 101, after these requests.
std::vector<core::worker_vitals>
timed(const std::vector<core::last_request>& requests) {
  auto out = vitals_of({100, 101}, 5);
  add_timers(out, requests, sampled);
  return out.workers;
}

} // namespace

TEST_CASE("worker timers: a worker gets what it has asked for last",
          "[actors]") {
  const auto seen = timed({{101, "step", sampled - 1'500ms}});
  CHECK(seen[1].timer_scope == "step");
  CHECK(seen[1].timer_age == 1'500ms);
  CHECK(seen[0].timer_scope.empty());
  CHECK_FALSE(seen[0].timer_age);
}

TEST_CASE("worker timers: without requests nothing changes", "[actors]") {
  CHECK(timed({}) == vitals_of({100, 101}, 5).workers);
  auto idle = core::node_vitals{};
  add_timers(idle, {{100, "step", sampled}}, sampled);
  CHECK(idle == core::node_vitals{});
}

TEST_CASE("worker timers: the order of requests does not matter", "[actors]") {
  const auto first = core::last_request{100, "load", sampled - 1s};
  const auto second = core::last_request{101, "step", sampled - 2s};
  const auto seen = timed({second, first});
  CHECK(seen == timed({first, second}));
  CHECK(seen[0].timer_scope == "load");
  CHECK(seen[1].timer_scope == "step");
}

TEST_CASE("worker timers: a request of a process that was not sampled is "
          "left out",
          "[actors]") {
  const auto seen = timed({{7, "gone", sampled}, {0, "none", sampled}});
  CHECK(seen == vitals_of({100, 101}, 5).workers);
}

TEST_CASE("worker timers: a request after the sample is as old as that",
          "[actors]") {
  CHECK(timed({{100, "next", sampled}})[0].timer_age == 0ms);
  CHECK(timed({{100, "next", sampled + 1s}})[0].timer_age == 0ms);
}

TEST_CASE("worker timers: ages are whole milliseconds, rounded down",
          "[actors]") {
  CHECK(timed({{100, "x", sampled - 1'999'999ns}})[0].timer_age == 1ms);
  CHECK(timed({{100, "x", sampled - 999'999ns}})[0].timer_age == 0ms);
  CHECK(timed({{100, "x", core::time_point{}}})[0].timer_age == 10s);
}

TEST_CASE("worker timers: a scope without a name counts as a request",
          "[actors]") {
  const auto seen = timed({{100, "", sampled - 1s}});
  CHECK(seen[0].timer_scope.empty());
  CHECK(seen[0].timer_age == 1s);
}

TEST_CASE("worker timers: newer requests replace older ones", "[actors]") {
  auto vitals = vitals_of({100}, 5);
  add_timers(vitals, {{100, "load", sampled - 3s}}, sampled);
  add_timers(vitals, {{100, "step", sampled + 1s}}, sampled + 2s);
  CHECK(vitals.workers[0].timer_scope == "step");
  CHECK(vitals.workers[0].timer_age == 1s);
}

} // namespace actorrun::test::worker_timers_test
