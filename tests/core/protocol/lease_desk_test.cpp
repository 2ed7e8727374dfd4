#include "actors/core/protocol/lease_desk.hpp"
#include "tests/support/catch.hpp"

#include <string>

namespace actorrun::test::lease_desk_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

/// Agents' clocks and the coordinator's show the same here.
struct fixture {
  lease_desk uut;

  void open(duration t, const std::string& agent) {
    uut.open({agent}, time_point{t});
  }

  bool hear(duration t, const std::string& agent) { return hear(t, t, agent); }

  bool hear(duration sent, duration t, const std::string& agent) {
    return uut.hear({agent}, time_point{sent}, time_point{t});
  }

  /// `a@1 b@2`, in seconds.
  std::string take() {
    auto out = std::string{};
    for (const auto& x : uut.take())
      out += (out.empty() ? "" : " ") + x.agent.value + "@"
             + std::to_string(x.heard.time_since_epoch() / 1s);
    return out;
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "lease_desk: who has no lease gets no answer",
                 "[core]") {
  CHECK_FALSE(hear(1s, "a"));
  open(1s, "a");
  CHECK(hear(2s, "a"));
  CHECK_FALSE(hear(2s, "b"));
  uut.close({"a"});
  CHECK_FALSE(hear(3s, "a"));
  CHECK(take().empty());
}

TEST_CASE_METHOD(fixture, "lease_desk: the latest renewals are told, in order",
                 "[core]") {
  open(0s, "a");
  open(0s, "b");
  open(0s, "c");
  hear(1s, "b");
  hear(2s, "a");
  hear(3s, "b");
  CHECK(take() == "a@2 b@3");
  CHECK(take().empty());
  hear(4s, "c");
  CHECK(take() == "c@4");
}

TEST_CASE_METHOD(fixture,
                 "lease_desk: a repeated keep-alive is answered and renews "
                 "nothing",
                 "[core]") {
  open(0s, "a");
  CHECK(hear(1s, 2s, "a"));
  CHECK(hear(1s, 3s, "a"));
  CHECK(take() == "a@2");
  CHECK(hear(1s, 4s, "a"));
  CHECK(take().empty());
}

TEST_CASE_METHOD(fixture,
                 "lease_desk: an agent that is back cannot repeat what it said",
                 "[core]") {
  open(0s, "a");
  hear(1s, 2s, "a");
  take();
  open(3s, "a");
  CHECK(hear(1s, 4s, "a"));
  CHECK(take().empty());
  uut.close({"a"});
  open(5s, "a"); // It is another one.
  CHECK(hear(1s, 6s, "a"));
  CHECK(take() == "a@6");
}

TEST_CASE_METHOD(fixture, "lease_desk: it knows when an agent was heard",
                 "[core]") {
  CHECK_FALSE(uut.heard({"a"}));
  open(1s, "a");
  CHECK(uut.heard({"a"}) == time_point{1s});
  hear(2s, "a");
  CHECK(uut.heard({"a"}) == time_point{2s});
  take();
  CHECK(uut.heard({"a"}) == time_point{2s});
  uut.close_all();
  CHECK_FALSE(uut.heard({"a"}));
}

} // namespace actorrun::test::lease_desk_test
