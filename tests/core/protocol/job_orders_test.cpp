#include "actors/core/protocol/job_orders.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::job_orders_test {

using namespace actorrun::core;
using namespace std::chrono_literals;

namespace {

constexpr auto now = time_point{} + 1h;

restart_policy spent(uint32_t restart_count) {
  auto out = restart_policy{3};
  out.restore(restart_count, {});
  return out;
}

charter of_two_to_four_nodes() {
  return {.revision = 7,
          .settings = {.agent_count_min = 2, .agent_count_max = 4},
          .is_resized = true,
          .lease = 3s};
}

struct fixture {
  job_orders uut{{.agent_count_min = 1, .agent_count_max = 3}, 1'200ms};

  fixture() { uut.begin({}, true, true, now); }

  /// Two agents bear witness.
  std::optional<charter> hear(const charter& x) {
    CHECK_FALSE(uut.hear({"a"}, x, now));
    return uut.hear({"b"}, x, now);
  }
};

} // namespace

TEST_CASE_METHOD(fixture, "job_orders: what two agents tell counts", "[core]") {
  const auto known = hear(of_two_to_four_nodes());
  REQUIRE(known);
  CHECK(nodes_asked(uut.settings()) == "2:4");
  CHECK(uut.resize_reason().text
        == "an earlier coordinator of the job had 2:4 nodes");
  CHECK(uut.told().revision == 7);
}

TEST_CASE_METHOD(
  fixture, "job_orders: what is proved counts, whoever tells another story",
  "[core]") {
  uut.trust(of_two_to_four_nodes(), now);
  CHECK(nodes_asked(uut.settings()) == "2:4");
  auto other = of_two_to_four_nodes();
  other.revision = 8;
  other.settings.agent_count_max = 3;
  CHECK_FALSE(hear(other));
  CHECK(nodes_asked(uut.settings()) == "2:4");
  CHECK_FALSE(
    uut.revise(spent(0), {}, true, false)); // The next revision is above that.
  CHECK(uut.revise(spent(0), {}, false, false));
  CHECK(uut.told().revision == 9);
}

TEST_CASE_METHOD(fixture, "job_orders: no job has such numbers", "[core]") {
  auto x = of_two_to_four_nodes();
  x.settings.agent_count_min = 0;
  CHECK_FALSE(hear(x));
  CHECK(nodes_asked(uut.settings()) == "1:3");
}

TEST_CASE_METHOD(fixture, "job_orders: what is ordered here counts more",
                 "[core]") {
  uut.resize(2, 2, asked_for("resized to 2 nodes by alice", "alice"));
  uut.exclude({"n3", "", "alice", now});
  uut.add_drain({{"c"}, "alice", 60s});
  auto told = of_two_to_four_nodes();
  told.excluded = {{"n4", "bad disk", "bob"}};
  told.drains = {{{"d"}, "bob", 5s}};
  REQUIRE(hear(told));
  CHECK(nodes_asked(uut.settings()) == "2");
  CHECK(uut.excluded().find("n3") != nullptr);
  CHECK(uut.excluded().find("n4") != nullptr);
  REQUIRE(uut.drains().size() == 2);
  CHECK(uut.find_drain({"c"}) != nullptr);
  CHECK(uut.find_drain({"d"}) != nullptr);
  CHECK(uut.find_drain({"e"}) == nullptr);
}

TEST_CASE_METHOD(fixture, "job_orders: an order is told at once", "[core]") {
  CHECK_FALSE(
    uut.revise(spent(0), {}, false, true)); // The first one is no order …
  CHECK(uut.told().revision == 1);
  CHECK_FALSE(uut.revise(spent(0), {}, false, true));
  CHECK_FALSE(uut.revise(spent(1), {}, false, true)); // … nor is a restart.
  CHECK(uut.told().revision == 2);
  uut.add_drain({{"c"}, "alice", 60s});
  CHECK(uut.revise(spent(1), {}, false, true));
  uut.withdraw_drain({"c"});
  CHECK(uut.revise(spent(1), {}, false, true));
  CHECK(uut.told().revision == 4);
}

TEST_CASE_METHOD(fixture,
                 "job_orders: whoever does not know all yet tells orders alone",
                 "[core]") {
  CHECK_FALSE(uut.revise(spent(0), {}, true, false));
  CHECK(uut.told().revision == 0);
  CHECK_FALSE(
    uut.revise(spent(1), {}, true, false)); // Of an earlier coordinator.
  CHECK(uut.told().revision == 0);
  uut.exclude({"n3", "", "alice", now});
  CHECK(uut.revise(spent(0), {}, true, false));
  CHECK(uut.told().revision == 1);
}

TEST_CASE_METHOD(fixture,
                 "job_orders: the longest lease counts until all are "
                 "known",
                 "[core]") {
  uut.know_lease(5s);
  uut.know_lease(2s);
  CHECK(uut.told().lease == 5s);
  uut.settle();
  CHECK(uut.told().lease == 1'200ms);
}

} // namespace actorrun::test::job_orders_test
