#include "actors/core/time.hpp"
#include "tests/support/catch.hpp"

#include <utility>

namespace actorrun::test::time_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

TEST_CASE("time: by default an agent fences itself in time to be replaced",
          "[core]") {
  const auto x = timeouts{};
  CHECK(x.fence() == 900ms);
  CHECK(x.lease() == 1200ms);
}

TEST_CASE("time: in small jobs agents speak more often, with the same fence",
          "[core]") {
  for (const auto& [nodes, interval] : {std::pair{1u, 60ms},
                                        {24u, 60ms},
                                        {26u, 69ms},
                                        {40u, 100ms},
                                        {41u, 112ms},
                                        {80u, 225ms},
                                        {120u, 300ms},
                                        {121u, 450ms},
                                        {180u, 450ms}}) {
    CAPTURE(nodes);
    const auto x = fitted({}, nodes);
    CHECK(x.keep_alive_interval == interval);
    CHECK(x.fence() <= timeouts{}.fence());
    CHECK(x.fence() > timeouts{}.fence() - 10ms);
    CHECK(x.fence_guard == timeouts{}.fence_guard);
  }
}

TEST_CASE("time: in large jobs agents speak less often", "[core]") {
  CHECK(fitted({}, 190).keep_alive_interval == 475ms);
  CHECK(fitted({}, 190).fence() == 950ms);
  for (const auto nodes : {200u, 1'000u, 2'500u}) {
    CAPTURE(nodes);
    CHECK(fitted({}, nodes).keep_alive_interval == 500ms);
  }
  CHECK(fitted({}, 2'505).keep_alive_interval == 501ms);
  CHECK(fitted({}, 10'000).keep_alive_interval == 2s);
}

TEST_CASE("time: N4 a fence outlasts a coordinator's return", "[core]") {
  for (const auto& [nodes, fence] : {std::pair{200u, 1'000ms},
                                     {625u, 1'000ms},
                                     {626u, 1'500ms},
                                     {2'000u, 2'500ms},
                                     {4'000u, 4'000ms},
                                     {10'000u, 10'000ms}}) {
    CAPTURE(nodes);
    CHECK(fitted({}, nodes).fence() == fence);
    CHECK(fitted({}, nodes).lease() == fence + 300ms);
  }
  for (uint32_t nodes = 1; nodes < 100'000; nodes += 1 + nodes / 50) {
    CAPTURE(nodes);
    const auto x = fitted({}, nodes);
    CHECK(x.fence() - x.keep_alive_interval >= nodes * return_time);
  }
}

TEST_CASE("time: in huge jobs agents wait longer for their turn", "[core]") {
  CHECK(fitted({}, 2'500).connect == timeouts{}.connect);
  CHECK(fitted({}, 10'000).connect == 20s);
  auto x = timeouts{};
  x.connect = 7s;
  CHECK(fitted(x, 10'000).connect == 7s);
}

TEST_CASE("time: no coordinator reads too many keep-alives", "[core]") {
  for (uint32_t nodes = 1; nodes < 100'000; nodes += 1 + nodes / 50) {
    CAPTURE(nodes);
    const auto rate = nodes * 1.0s / fitted({}, nodes).keep_alive_interval;
    CHECK(rate <= (nodes <= 200 ? small_job_rate : large_job_rate) * 1.01);
  }
}

TEST_CASE("time: a larger job has no shorter fence", "[core]") {
  auto before = timeouts::ms{};
  for (uint32_t nodes = 1; nodes < 10'000; ++nodes) {
    const auto x = fitted({}, nodes);
    CAPTURE(nodes, before.count(), x.fence().count());
    CHECK(x.keep_alive_attempts >= 2);
    CHECK(x.fence() >= before - 10ms); // Intervals are whole milliseconds.
    before = x.fence();
  }
}

// A job may be resized, and its next coordinator started with the new numbers: its
// lease must be longer than the fences that the one before has granted.
TEST_CASE("time: up to 625 nodes a lease is longer than each other's fence",
          "[core]") {
  auto shortest_lease = timeouts{}.lease();
  auto longest_fence = timeouts::ms{};
  for (uint32_t nodes = 1; nodes <= 625; ++nodes) {
    shortest_lease = std::min(shortest_lease, fitted({}, nodes).lease());
    longest_fence = std::max(longest_fence, fitted({}, nodes).fence());
  }
  CHECK(shortest_lease - longest_fence >= timeouts{}.fence_guard / 2);
}

TEST_CASE("time: an answer is late where there are many, and by little",
          "[core]") {
  for (uint32_t nodes = 1; nodes < 100'000; nodes += 1 + nodes / 50) {
    CAPTURE(nodes);
    const auto x = fitted({}, nodes);
    CHECK((x.answer_pause() == 0ms) == (nodes <= 90));
    CHECK(x.answer_pause() * 15 < x.keep_alive_interval);
    CHECK(x.answer_pause() <= 32ms);
  }
}

TEST_CASE("time: what fits a job fits it again", "[core]") {
  for (const auto nodes : {1u, 100u, 200u, 1'000u, 10'000u})
    CHECK(fitted(fitted({}, nodes), nodes) == fitted({}, nodes));
}

TEST_CASE("time: keep-alives that were asked for stay", "[core]") {
  auto x = timeouts{};
  SECTION("an interval") {
    x.keep_alive_interval = 50ms;
  }
  SECTION("a number") {
    x.keep_alive_attempts = 6;
  }
  SECTION("the default") {
    x.keep_alive_is_given = true;
  }
  CHECK(fitted(x, 2) == x);
}

TEST_CASE("time: torchrun's defaults apply where it has some", "[core]") {
  const auto x = timeouts{};
  CHECK(x.join == 600s);
  CHECK(x.last_call == 30s);
  CHECK(x.seek == 60s);
  CHECK(x.seek_again() == 600s);
  CHECK(x.connect == 5s);
  CHECK(x.close == 30s);
  CHECK(x.keep_alive_attempts == 3);
}

TEST_CASE("time: a lost coordinator is waited for as long as lost nodes are",
          "[core]") {
  auto x = timeouts{};
  x.join = 20min;
  CHECK(x.seek_again() == 20min);
  x.join = 5s; // Never less than what is waited at first.
  CHECK(x.seek_again() == 60s);
  x.seek = 2s;
  x.seek_is_given = true;
  x.join = 20min;
  CHECK(x.seek_again() == 2s);
}

TEST_CASE("time: the lease outlasts the fence by the guard", "[core]") {
  for (const auto interval : {1ms, 300ms, 5000ms})
    for (const uint32_t attempts : {1u, 3u, 1000u})
      for (const auto guard : {1ms, 300ms}) {
        auto x = timeouts{};
        x.keep_alive_interval = interval;
        x.keep_alive_attempts = attempts;
        x.fence_guard = guard;
        CHECK(x.fence() == interval * attempts);
        CHECK(x.lease() == x.fence() + guard);
      }
}

} // namespace actorrun::test::time_test
