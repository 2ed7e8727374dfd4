#include "actors/core/timers/early.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::early_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

struct fixture {
  bool hold(int64_t worker, const std::string& scope, duration at) {
    auto x = early_request{};
    x.request.pid = worker;
    x.request.scope = scope;
    x.wall_offset = at;
    return uut.hold(worker, x, time_point{at});
  }

  /// The scopes of the held requests, each followed by a blank.
  std::string take(int64_t worker, duration at) {
    auto out = std::string{};
    for (const auto& x : uut.take(worker, time_point{at}))
      out += x.request.scope + " ";
    return out;
  }

  early_requests uut;
};

} // namespace

TEST_CASE_METHOD(fixture,
                 "early_requests: a worker gets its own, in order and "
                 "once",
                 "[core]") {
  hold(1, "a", 0s);
  hold(2, "b", 0s);
  hold(1, "c", 0s);
  CHECK(take(3, 0s) == "");
  CHECK(take(1, 0s) == "a c ");
  CHECK(take(1, 0s) == "");
  CHECK(take(2, 0s) == "b ");
  CHECK(uut.size() == 0);
}

TEST_CASE_METHOD(fixture,
                 "early_requests: they keep the time at which they were read",
                 "[core]") {
  hold(1, "a", 5ms);
  const auto held = uut.take(1, time_point{6ms});
  REQUIRE(held.size() == 1);
  CHECK(held[0].wall_offset == 5ms);
}

TEST_CASE_METHOD(fixture, "early_requests: they are not kept forever",
                 "[core]") {
  hold(1, "a", 0s);
  hold(1, "b", 1ns);
  CHECK(take(1, early_timeout + 1ns) == "b ");
  hold(1, "c", 10s);
  CHECK(take(1, 10s + early_timeout) == "c ");
}

TEST_CASE_METHOD(fixture,
                 "early_requests: their number is bounded, until the old "
                 "ones are dropped",
                 "[core]") {
  for (size_t i = 0; i < early_requests_max; ++i)
    REQUIRE(hold(int64_t(i), "a", 0s));
  CHECK_FALSE(hold(1, "b", early_timeout));
  CHECK(uut.size() == early_requests_max);
  CHECK(hold(1, "c", early_timeout + 1ns));
  CHECK(uut.size() == 1);
}

} // namespace actorrun::test::early_test
