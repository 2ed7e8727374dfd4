#include "actors/core/protocol/node_end.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <csignal>
#include <string>
#include <vector>

namespace actorrun::test::node_end_test {

namespace {

using namespace actorrun::core;
using namespace std::chrono_literals;

const auto succeeded
  = outcome{.kind = outcome::verdict::succeeded, .first_failure = {}};

ending with_outcome() {
  return {.result = succeeded, .why = {}, .signal = 0};
}

ending by_signal() {
  return {.result = {}, .why = {}, .signal = SIGTERM};
}

/// Feeds events, and remembers what followed.
struct node {
  explicit node(bool has_agent = true) : uut(has_agent) {}

  void feed(const node_end_event& event) {
    for (const auto& effect : uut.step(event, now)) {
      if (const auto* x = std::get_if<end_node>(&effect)) {
        REQUIRE_FALSE(ended);
        ended = x->how;
      } else {
        REQUIRE_FALSE(ended);
        if (const auto* y = std::get_if<arm_timer>(&effect))
          timer = *y;
      }
      shows += std::holds_alternative<show_logs>(effect);
      resigns += std::holds_alternative<resign_leadership>(effect);
      passes += std::holds_alternative<pass_on_signal>(effect);
      if (const auto* y = std::get_if<report_wait>(&effect)) {
        ++waits;
        signals_left = y->signals_left;
      }
      if (const auto* y = std::get_if<report_failure>(&effect))
        report = y->text;
    }
  }

  void fire() {
    REQUIRE(timer);
    now = timer->due;
    feed(timer_fired{timer->timer});
  }

  node_end uut;
  time_point now{10s};
  std::optional<ending> ended;
  std::optional<arm_timer> timer;
  int shows = 0;
  int resigns = 0;
  int passes = 0;
  int waits = 0;
  uint32_t signals_left = 0; ///< That end such a wait.
  std::string report;
};

} // namespace

TEST_CASE("node_end: agent, coordinator and console end in any order",
          "[core]") {
  auto order = std::vector{0, 1, 2};
  do {
    auto x = node{};
    // The console is asked only when the agent has finished.
    if (std::ranges::find(order, 2) < std::ranges::find(order, 0))
      continue;
    for (const auto which : order) {
      CHECK_FALSE(x.ended);
      if (which == 0)
        x.feed(agent_finished{with_outcome(), true});
      else if (which == 1)
        x.feed(coordinator_closed{succeeded});
      else
        x.feed(logs_shown{});
    }
    CHECK(x.ended == with_outcome());
    CHECK(x.shows == 1);
    CHECK(x.resigns == 0);
  } while (std::ranges::next_permutation(order).found);
}

TEST_CASE("node_end: a coordinator elsewhere is not awaited", "[core]") {
  auto x = node{};
  x.feed(agent_finished{with_outcome(), false});
  CHECK(x.resigns == 1);
  CHECK_FALSE(x.ended);
  CHECK(x.uut.awaits_console());
  x.feed(logs_shown{});
  CHECK(x.ended == with_outcome());
  CHECK_FALSE(x.uut.awaits_console());
}

TEST_CASE("node_end: with an unknown outcome it resigns", "[core]") {
  auto x = node{};
  x.feed(agent_finished{by_signal(), true});
  CHECK(x.resigns == 1);
  x.feed(logs_shown{});
  CHECK_FALSE(x.ended);
  x.feed(leadership_left{});
  CHECK(x.ended == by_signal());
}

TEST_CASE("node_end: a leadership that ended before is not awaited", "[core]") {
  auto x = node{};
  x.feed(leadership_left{});
  x.feed(agent_finished{with_outcome(), false});
  x.feed(logs_shown{});
  CHECK(x.ended == with_outcome());
}

TEST_CASE("node_end: a coordinator alone ends with the job", "[core]") {
  auto x = node{false};
  x.feed(leadership_left{});
  CHECK_FALSE(x.ended);
  x.feed(coordinator_closed{succeeded});
  CHECK(x.ended == with_outcome());
  CHECK(x.shows == 0);
}

TEST_CASE("node_end: an agent that gives up says what became of the job",
          "[core]") {
  auto x = node{};
  const auto why = failure{errc::coordinator_lost, "gone"};
  x.feed(agent_finished{{.result = {}, .why = why, .signal = 0}, true});
  x.feed(logs_shown{});
  x.feed(coordinator_closed{succeeded});
  REQUIRE(x.ended);
  CHECK(x.ended->why == why);
  CHECK(x.ended->result == succeeded);
}

TEST_CASE("node_end: an agent that gives up keeps the outcome it knows",
          "[core]") {
  auto x = node{};
  const auto why = failure{errc::worker_unkillable, "hangs"};
  x.feed(agent_finished{{.result = succeeded, .why = why, .signal = 0}, false});
  x.feed(logs_shown{});
  REQUIRE(x.ended);
  CHECK(x.ended->why == why);
  CHECK(x.ended->result == succeeded);
}

TEST_CASE("node_end: one signal waits for the console", "[core]") {
  auto x = node{};
  x.feed(signal_received{SIGTERM});
  CHECK(x.passes == 1);
  x.feed(agent_finished{by_signal(), false});
  CHECK_FALSE(x.ended);
  x.feed(signal_received{SIGTERM});
  CHECK(x.ended == by_signal());
}

TEST_CASE("node_end: the first signal waits for the console even if nothing "
          "else is left",
          "[core]") {
  auto x = node{};
  x.feed(agent_finished{with_outcome(), false});
  x.feed(signal_received{SIGTERM});
  CHECK_FALSE(x.ended);
  x.feed(signal_received{SIGTERM});
  CHECK(x.ended == with_outcome());
}

TEST_CASE("node_end: a long wait for the console is told, once", "[core]") {
  auto x = node{};
  x.feed(signal_received{SIGTERM});
  x.feed(agent_finished{by_signal(), true});
  CHECK_FALSE(x.timer);
  x.feed(coordinator_closed{succeeded});
  REQUIRE(x.timer);
  CHECK(x.timer->due == x.now + node_end::silence_max);
  SECTION("which goes on") {
    x.fire();
    CHECK(x.waits == 1);
    CHECK(x.signals_left == 1);
    CHECK_FALSE(x.ended);
    x.fire();
    x.feed(leadership_left{});
    CHECK(x.waits == 1);
    x.feed(logs_shown{});
    CHECK(x.ended == by_signal());
  }
  SECTION("unless it is short") {
    x.feed(logs_shown{});
    CHECK(x.ended == by_signal());
    x.fire();
    CHECK(x.waits == 0);
  }
}

TEST_CASE("node_end: a wait without a signal is ended by two", "[core]") {
  auto x = node{};
  x.feed(agent_finished{with_outcome(), false});
  x.fire();
  CHECK(x.waits == 1);
  CHECK(x.signals_left == 2);
  x.feed(signal_received{SIGINT});
  CHECK_FALSE(x.ended);
  x.feed(signal_received{SIGINT});
  CHECK(x.ended == with_outcome());
}

TEST_CASE("node_end: after two signals the console has a second", "[core]") {
  auto x = node{};
  x.feed(signal_received{SIGTERM});
  x.feed(signal_received{SIGTERM});
  CHECK_FALSE(x.timer);
  x.feed(agent_finished{by_signal(), false});
  REQUIRE(x.timer);
  CHECK(x.timer->due == x.now + node_end::hurry_max);
  CHECK_FALSE(x.ended);
  SECTION("which it uses") {
    x.feed(logs_shown{});
    CHECK(x.ended == by_signal());
    x.fire();
  }
  SECTION("which it lets pass") {
    x.fire();
    CHECK(x.ended == by_signal());
    x.feed(logs_shown{});
  }
  SECTION("which a third one cuts short") {
    x.feed(signal_received{SIGTERM});
    CHECK(x.ended == by_signal());
  }
}

TEST_CASE("node_end: a timer that is not armed changes nothing", "[core]") {
  auto x = node{};
  x.feed(agent_finished{by_signal(), false});
  x.feed(timer_fired{{7}});
  CHECK_FALSE(x.ended);
}

TEST_CASE("node_end: two signals do not leave a coordinator behind", "[core]") {
  auto x = node{};
  x.feed(signal_received{SIGTERM});
  x.feed(signal_received{SIGTERM});
  x.feed(agent_finished{by_signal(), true});
  x.feed(logs_shown{});
  x.feed(signal_received{SIGTERM});
  CHECK_FALSE(x.timer);
  CHECK_FALSE(x.ended);
  x.feed(coordinator_closed{succeeded});
  CHECK(x.ended == by_signal());
}

TEST_CASE("node_end: an actor that dies ends the node at once", "[core]") {
  auto x = node{};
  SECTION("the agent") {
    x.feed(actor_died{actor_died::role::agent, "bad_alloc"});
    REQUIRE(x.ended);
    CHECK(x.ended->why->text
          == "the agent of this node has failed (bad_alloc); its workers are "
             "ended");
  }
  SECTION("the coordinator") {
    x.feed(agent_finished{with_outcome(), true});
    x.feed(actor_died{actor_died::role::coordinator, "bad_alloc"});
    REQUIRE(x.ended);
    CHECK(x.ended->why->text
          == "the coordinator of this node has failed (bad_alloc); its workers "
             "are ended");
  }
  CHECK(x.report == x.ended->why->text); // No other part says it.
}

TEST_CASE("node_end: an actor that is done may end", "[core]") {
  auto x = node{};
  x.feed(agent_finished{with_outcome(), true});
  x.feed(actor_died{actor_died::role::agent, "done"});
  CHECK_FALSE(x.ended);
  x.feed(coordinator_closed{succeeded});
  x.feed(actor_died{actor_died::role::coordinator, "done"});
  CHECK_FALSE(x.ended);
  x.feed(logs_shown{});
  CHECK(x.ended == with_outcome());
  x.feed(actor_died{actor_died::role::agent, "again"});
}

TEST_CASE("node_end: a witness that finds no leader ends, and says why",
          "[core]") {
  const auto why = failure{errc::coordinator_lost, "no leader answers"};
  auto x = node{false};
  x.feed(witness_gave_up{why});
  REQUIRE(x.ended);
  CHECK_FALSE(x.ended->result);
  CHECK(x.ended->why->text == why.text);
  CHECK(x.shows == 0); // It has no workers.
  auto y = node{false};
  y.feed(coordinator_closed{succeeded});
  CHECK(y.ended == with_outcome());
  y.feed(witness_gave_up{why}); // Too late.
}

} // namespace actorrun::test::node_end_test
