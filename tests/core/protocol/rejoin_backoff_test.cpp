#include "actors/core/protocol/rejoin_backoff.hpp"
#include "tests/support/catch.hpp"

#include <chrono>

namespace {

using namespace actorrun::core;
using namespace std::chrono_literals;

/// One node comes and goes while a job runs.
struct flapping {
  /// Runs an epoch for `length`, until the node departs.
  void run(duration length) {
    uut.epoch_begins(now);
    now += length;
    uut.member_departs(now);
  }

  rejoin_backoff uut{1s, 60s};
  time_point now{10s};
};

} // namespace

TEST_CASE("rejoin back-off: the first departures cost nothing", "[core]") {
  auto x = flapping{};
  CHECK(x.uut.wait() == 0s);
  x.run(1s);
  x.run(1s);
  CHECK(x.uut.wait() == 0s);
  x.uut.epoch_begins(x.now);
  CHECK(x.uut.due() == x.now);
}

TEST_CASE("rejoin back-off: each further one doubles the wait, up to the limit",
          "[core]") {
  auto x = flapping{};
  x.run(1s);
  x.run(1s);
  for (const auto wait : {1s, 2s, 4s, 8s, 16s, 32s, 60s, 60s}) {
    x.run(x.uut.wait() + 100ms < 60s ? x.uut.wait() + 100ms : 59s);
    CHECK(x.uut.wait() == wait);
    x.uut.epoch_begins(x.now);
    CHECK(x.uut.due() == x.now + wait);
  }
}

TEST_CASE("rejoin back-off: an epoch that lasts ends it", "[core]") {
  auto x = flapping{};
  for (auto i = 0; i < 5; ++i)
    x.run(1s);
  CHECK(x.uut.wait() == 4s);
  SECTION("from the limit on") {
    x.run(60s);
    CHECK(x.uut.wait() == 0s);
    x.run(1s);
    x.run(1s);
    CHECK(x.uut.wait() == 0s);
    x.run(1s);
    CHECK(x.uut.wait() == 1s);
  }
  SECTION("also one that newcomers end") {
    x.uut.epoch_begins(x.now);
    x.uut.epoch_begins(x.now + 60s);
    CHECK(x.uut.wait() == 0s);
  }
  SECTION("and a long wait for nodes is none") {
    x.uut.epoch_begins(x.now + 60s);
    CHECK(x.uut.wait() == 4s);
  }
  SECTION("which one that newcomers end sooner does not") {
    x.uut.epoch_begins(x.now);
    x.uut.epoch_begins(x.now + 60s - 1ns);
    CHECK(x.uut.wait() == 4s);
  }
  SECTION("and not before") {
    x.run(60s - 1ns);
    CHECK(x.uut.wait() == 8s);
  }
}

TEST_CASE("rejoin back-off: many that depart at once count once", "[core]") {
  auto x = flapping{};
  x.run(1s);
  x.run(1s);
  x.run(1s);
  x.uut.member_departs(x.now);
  x.uut.member_departs(x.now);
  CHECK(x.uut.wait() == 1s);
}

TEST_CASE("rejoin back-off: a limit below the first wait holds", "[core]") {
  auto x = rejoin_backoff{1s, 1ms};
  auto now = time_point{1s};
  for (auto i = 0; i < 4; ++i) {
    x.epoch_begins(now);
    x.member_departs(now);
  }
  CHECK(x.wait() == 1ms);
}

TEST_CASE("rejoin back-off: without an epoch nothing counts", "[core]") {
  auto x = rejoin_backoff{1s, 60s};
  for (auto i = 0; i < 9; ++i)
    x.member_departs(time_point{1s});
  CHECK(x.wait() == 0s);
}
