#include "actors/core/protocol/failure_order.hpp"
#include "tests/support/catch.hpp"

#include <chrono>
#include <csignal>
#include <string>

namespace actorrun::test::failure_order_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

using std::chrono::milliseconds;

worker_failure failure_of(const std::string& agent, uint32_t local_rank,
                          duration age, uint32_t global_rank = 0) {
  auto x = worker_failure{};
  x.agent = {agent};
  x.host = "node-" + agent;
  x.local_rank = local_rank;
  x.global_rank = global_rank;
  x.age = age;
  x.code = 1;
  return x;
}

std::string name_of(const worker_failure& x) {
  return x.agent.value + std::to_string(x.local_rank);
}

struct fixture {
  failure_order uut;

  void add(milliseconds now, const worker_failure& x) {
    uut.add(x, time_point{now});
  }

  void add(milliseconds now, collateral xs) { uut.add(xs, time_point{now}); }

  /// The listed failures with their ages at `now` in ms: `a0:5 b1:3`; the
  /// number of others as `+2`.
  std::string at(milliseconds now) const {
    const auto say = [](const worker_failure& x) {
      return name_of(x) + ":" + std::to_string(x.age / 1ms);
    };
    auto text = say(uut.first(time_point{now}));
    const auto others = uut.others(time_point{now});
    for (const auto& x : others.listed)
      text += " " + say(x);
    if (others.unlisted_count > 0)
      text += " +" + std::to_string(others.unlisted_count);
    return text;
  }
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "failure_order: the worker that died first comes first",
                 "[core]") {
  CHECK(uut.empty());
  add(100ms, failure_of("a", 0, 2ms));
  CHECK_FALSE(uut.empty());
  CHECK(name_of(uut.first()) == "a0");
  add(101ms, failure_of("b", 0, 90ms)); // Its report came late.
  CHECK(name_of(uut.first()) == "b0");
  add(102ms, failure_of("c", 0, 1ms));
  CHECK(at(110ms) == "b0:99 a0:12 c0:9");
}

TEST_CASE_METHOD(fixture, "failure_order: one nanosecond decides", "[core]") {
  add(100ms, failure_of("a", 0, 2ms));
  add(100ms, failure_of("b", 0, 2ms + 1ns));
  CHECK(name_of(uut.first()) == "b0");
}

TEST_CASE_METHOD(
  fixture, "failure_order: of two at the same time the first report counts",
  "[core]") {
  add(100ms, failure_of("b", 0, 2ms));
  add(101ms, failure_of("a", 0, 3ms));
  CHECK(at(101ms) == "b0:3 a0:3");
}

TEST_CASE_METHOD(fixture,
                 "failure_order: of one message the lowest rank comes first",
                 "[core]") {
  add(100ms, {{failure_of("a", 2, 1ms, 6), failure_of("a", 1, 1ms, 5)}, 0});
  CHECK(at(100ms) == "a1:1 a2:1");
}

TEST_CASE_METHOD(
  fixture, "failure_order: later reports of an agent are of later failures",
  "[core]") {
  add(100ms, failure_of("a", 0, 0ms)); // Travelled for 50 ms.
  add(100ms, failure_of("b", 0, 10ms));
  CHECK(at(100ms) == "b0:10 a0:0");
  // A faster message shows that a0 had died before.
  add(101ms, {{failure_of("a", 1, 20ms), failure_of("a", 2, 0ms)}, 0});
  CHECK(at(101ms) == "a0:20 a1:20 b0:11 a2:0");
}

TEST_CASE_METHOD(
  fixture, "failure_order: what an agent puts in front of its report was first",
  "[core]") {
  add(100ms, failure_of("a", 0, 0ms));
  add(100ms, failure_of("b", 0, 50ms));
  add(130ms, {{failure_of("a", 2, 90ms), failure_of("a", 1, 40ms),
               failure_of("a", 0, 35ms), failure_of("a", 3, 20ms)},
              0});
  CHECK(at(130ms) == "a2:90 b0:80 a1:40 a0:35 a3:20");
  // A slow message changes nothing.
  add(150ms, {{failure_of("a", 2, 95ms), failure_of("a", 1, 45ms),
               failure_of("a", 0, 40ms), failure_of("a", 3, 25ms)},
              0});
  CHECK(at(150ms) == "a2:110 b0:100 a1:60 a0:55 a3:40");
}

TEST_CASE_METHOD(
  fixture, "failure_order: so it is if its first report was the quicker one",
  "[core]") {
  add(100ms, failure_of("a", 0, 0ms));
  add(150ms, {{failure_of("a", 1, 12ms), failure_of("a", 0, 10ms)}, 0});
  CHECK(at(150ms) == "a1:50 a0:50");
}

TEST_CASE_METHOD(fixture, "failure_order: a failure reported twice counts once",
                 "[core]") {
  add(100ms, failure_of("a", 0, 2ms));
  add(150ms, failure_of("a", 0, 20ms)); // The message was slower.
  CHECK(at(150ms) == "a0:52");
  add(150ms, failure_of("a", 1, 20ms));
  CHECK(at(150ms) == "a0:52 a1:20");
}

TEST_CASE_METHOD(fixture, "failure_order: the faster message gives the time",
                 "[core]") {
  add(100ms, failure_of("a", 0, 2ms));
  add(101ms, failure_of("b", 0, 8ms));
  CHECK(at(101ms) == "b0:8 a0:3");
  add(102ms, failure_of("a", 0, 20ms));
  CHECK(at(102ms) == "a0:20 b0:9");
}

TEST_CASE_METHOD(fixture, "failure_order: the list has a limit, the count none",
                 "[core]") {
  for (uint32_t i = 0; i <= other_failures_max; ++i)
    add(100ms, failure_of("a", i, 0ms, i));
  const auto full = uut.others(time_point{100ms});
  CHECK(full.listed.size() == other_failures_max);
  CHECK(full.unlisted_count == 0);
  add(100ms, failure_of("a", 99, 0ms, 99));
  CHECK(uut.others(time_point{100ms}).listed == full.listed);
  CHECK(uut.others(time_point{100ms}).unlisted_count == 1);
  add(100ms, failure_of("a", 99, 0ms, 99)); // Known, though not listed.
  CHECK(uut.others(time_point{100ms}).unlisted_count == 1);
  add(100ms, {{}, 7});
  CHECK(uut.others(time_point{100ms}).unlisted_count == 8);
}

TEST_CASE_METHOD(fixture, "failure_order: a full list still takes the first",
                 "[core]") {
  for (uint32_t i = 0; i <= other_failures_max; ++i)
    add(100ms, failure_of("a", i, 0ms, i));
  add(100ms, failure_of("b", 0, 5ms));
  CHECK(name_of(uut.first()) == "b0");
  CHECK(uut.others(time_point{100ms}).listed.size() == other_failures_max);
  CHECK(uut.others(time_point{100ms}).unlisted_count == 1);
}

TEST_CASE_METHOD(
  fixture, "failure_order: what is listed again may have no room any more",
  "[core]") {
  for (uint32_t i = 0; i < other_failures_max; ++i)
    add(100ms, failure_of("b", i, 50ms, i));
  add(100ms, failure_of("a", 0, 0ms, 90));
  add(100ms, {{failure_of("a", 1, 10ms, 91), failure_of("a", 0, 0ms, 90)}, 0});
  const auto others = uut.others(time_point{100ms});
  REQUIRE(others.listed.size() == other_failures_max);
  CHECK(name_of(others.listed.back()) == "a1");
  CHECK(others.unlisted_count == 1);
}

TEST_CASE_METHOD(fixture, "failure_order: only the first has all its text",
                 "[core]") {
  auto a = failure_of("a", 0, 2ms);
  auto b = failure_of("b", 0, 1ms);
  a.details.traceback = b.details.traceback
    = std::string(failure_traceback_max, 'x');
  add(100ms, a);
  add(100ms, b);
  CHECK(uut.first().details == a.details);
  CHECK(uut.others(time_point{100ms}).listed[0].details.traceback.size()
        == brief_traceback_max);
}

TEST_CASE_METHOD(fixture,
                 "failure_order: it can be used for the next generation",
                 "[core]") {
  add(100ms, {{failure_of("a", 0, 50ms)}, 3});
  uut.clear();
  CHECK(uut.empty());
  add(101ms, failure_of("a", 0, 0ms));
  CHECK(at(101ms) == "a0:0");
}

TEST_CASE_METHOD(fixture,
                 "failure_order: a repeated report makes no later failure of "
                 "its agent older",
                 "[core]") {
  add(10ms, failure_of("a", 0, 5ms));
  add(20ms, failure_of("a", 1, 1ms));
  add(30ms, failure_of("a", 0, 25ms));
  CHECK(at(30ms) == "a0:25 a1:11");
}

TEST_CASE_METHOD(fixture,
                 "failure_order: failures of one message are as old as it says",
                 "[core]") {
  add(20ms, {{failure_of("a", 0, 1ms), failure_of("a", 1, 5ms)}, 0});
  CHECK(at(20ms) == "a1:5 a0:1");
}

TEST_CASE_METHOD(
  fixture,
  "failure_order: who misses a peer comes after who died a little "
  "later for another reason",
  "[core]") {
  auto bereft = failure_of("a", 0, 0ms);
  bereft.details.traceback = "RuntimeError: Connection closed by peer";
  add(100ms, bereft);
  SECTION("a little later") {
    add(600ms, failure_of("b", 0, 1ms));
    CHECK(at(600ms) == "b0:1 a0:500");
  }
  SECTION("at the same agent") {
    add(110ms, failure_of("a", 1, 0ms));
    CHECK(at(110ms) == "a1:0 a0:10");
  }
  SECTION("at the same agent, which held it back") {
    uut.clear();
    add(110ms, failure_of("a", 1, 0ms));
    bereft.age = 20ms;
    add(120ms, {{bereft}, 0});
    CHECK(at(120ms) == "a1:10 a0:20"); // It has not died before it did.
  }
  SECTION("too late to be why") {
    add(601ms, failure_of("b", 0, 0ms));
    CHECK(at(601ms) == "a0:501 b0:0");
  }
  SECTION("all miss a peer") {
    bereft.agent = {"b"};
    add(110ms, bereft);
    CHECK(at(110ms) == "a0:10 b0:0");
  }
}

// -- deaths by signals --------------------------------------------------------

namespace {

worker_failure killed(const std::string& agent, duration age, duration teardown,
                      int signal = SIGKILL) {
  auto x = failure_of(agent, 0, age);
  x.kind = failure_kind::signalled;
  x.code = signal;
  x.teardown = teardown;
  return x;
}

} // namespace

TEST_CASE_METHOD(
  fixture,
  "failure_order: P1 a death by a signal counts from where it may"
  " have begun",
  "[core]") {
  add(100ms, failure_of("a", 0, 2ms));
  add(110ms, failure_of("b", 0, 5ms));
  add(300ms, killed("c", 100ms, 150ms));
  CHECK(at(300ms) == "c0:100 a0:202 b0:195");
}

TEST_CASE_METHOD(
  fixture,
  "failure_order: P1 a plain exit that came long before a death by"
  " a signal stays the root cause",
  "[core]") {
  add(100ms, failure_of("a", 0, 0ms));
  add(300ms, killed("c", 0ms, 199ms));
  CHECK(name_of(uut.first()) == "a0");
  add(301ms, killed("d", 1ms, 200ms + 1ns));
  CHECK(name_of(uut.first()) == "d0");
}

TEST_CASE_METHOD(
  fixture,
  "failure_order: P1 an abort that says that a peer has gone, and"
  " SIGPIPE, count later",
  "[core]") {
  add(100ms, failure_of("a", 0, 0ms));
  auto says_so = killed("b", 20ms, 500ms, SIGABRT);
  says_so.details.traceback = "what(): Connection closed by peer";
  add(100ms, says_so);
  add(100ms, killed("c", 30ms, 500ms, SIGPIPE));
  CHECK(at(100ms) == "a0:0 c0:30 b0:20");
  add(101ms, killed("d", 0ms, 500ms, SIGABRT)); // Says nothing.
  CHECK(name_of(uut.first()) == "d0");
}

TEST_CASE_METHOD(
  fixture,
  "failure_order: P1 what was being stopped is listed last, however"
  " early it may have begun to end",
  "[core]") {
  auto in_stop = killed("a", 10ms, 5s);
  in_stop.while_stopped = true;
  add(100ms, in_stop);
  add(100ms, failure_of("b", 0, 1ms));
  auto says_so = failure_of("c", 0, 0ms);
  says_so.details.message = "Broken pipe";
  add(100ms, says_so);
  CHECK(at(100ms) == "b0:1 c0:0 a0:10");
}

} // namespace actorrun::test::failure_order_test
