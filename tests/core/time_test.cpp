#include "actors/core/time.hpp"
#include "tests/support/catch.hpp"

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
  const auto small = fitted({}, often_heard_agent_count_max);
  CHECK(small.keep_alive_interval == 60ms);
  CHECK(small.fence() == timeouts{}.fence());
  CHECK(small.lease() == timeouts{}.lease());
  CHECK(fitted({}, often_heard_agent_count_max + 1) == timeouts{});
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
  CHECK(x.connect == 5s);
  CHECK(x.close == 30s);
  CHECK(x.keep_alive_attempts == 3);
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
