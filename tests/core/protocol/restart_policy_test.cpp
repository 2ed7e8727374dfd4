#include "actors/core/protocol/restart_policy.hpp"
#include "tests/support/catch.hpp"

#include <cerrno>

namespace actorrun::test::restart_policy_test {

using namespace actorrun::core;

namespace {

using answer = restart_policy::answer;

const auto exited = worker_failure{.agent = {"a"},
                                   .host = "node-a",
                                   .global_rank = 0,
                                   .local_rank = 0,
                                   .pid = 1,
                                   .kind = failure_kind::exited,
                                   .code = 1,
                                   .dumped = false};

worker_failure not_started(int error) {
  auto x = exited;
  x.kind = failure_kind::not_started;
  x.code = error;
  return x;
}

} // namespace

TEST_CASE("restart_policy: the budget is spent, then the job gives up",
          "[core]") {
  for (const uint32_t most : {0u, 1u, 2u, 100u}) {
    CAPTURE(most);
    auto uut = restart_policy{most};
    for (uint32_t i = 1; i <= most; ++i) {
      CHECK(uut.on_failure({i}, exited) == answer::restart);
      CHECK(uut.restart_count() == i);
    }
    CHECK(uut.on_failure({most + 1}, exited) == answer::give_up);
    CHECK(uut.restart_count() == most);
    CHECK(uut.restart_count_max() == most);
  }
}

TEST_CASE("restart_policy: one restart covers all failures of a generation",
          "[core]") {
  auto uut = restart_policy{2};
  CHECK(uut.on_failure({4}, exited) == answer::restart);
  CHECK(uut.on_failure({4}, exited) == answer::collateral);
  CHECK(uut.on_failure({4}, not_started(ENOENT)) == answer::collateral);
  CHECK(uut.restart_count() == 1);
  CHECK(uut.on_failure({5}, exited) == answer::restart);
  CHECK(uut.restart_count() == 2);
}

TEST_CASE("restart_policy: giving up is reported once for a generation",
          "[core]") {
  auto uut = restart_policy{0};
  CHECK(uut.on_failure({1}, exited) == answer::give_up);
  CHECK(uut.charged() == generation_id{}); // A successor gives up, too.
}

TEST_CASE("restart_policy: a program that cannot be run is not tried again",
          "[core]") {
  auto uut = restart_policy{3};
  CHECK(uut.on_failure({1}, not_started(ENOENT)) == answer::give_up);
  CHECK(uut.restart_count() == 0);
}

TEST_CASE("restart_policy: a start that failed for lack of memory is tried "
          "again",
          "[core]") {
  auto uut = restart_policy{3};
  CHECK(uut.on_failure({1}, not_started(ENOMEM)) == answer::restart);
  CHECK(uut.restart_count() == 1);
}

TEST_CASE("restart_policy: generations that ended otherwise cost nothing",
          "[core]") {
  auto uut = restart_policy{1};
  CHECK(uut.on_failure({100}, exited) == answer::restart);
  CHECK(uut.on_failure({200}, exited) == answer::give_up);
  CHECK(uut.restart_count() == 1);
}

TEST_CASE("restart_policy: restarts spent under a predecessor stay spent",
          "[core]") {
  auto uut = restart_policy{3};
  uut.restore(2, {});
  CHECK(uut.restart_count() == 2);
  uut.restore(1, {}); // An agent of an older generation knows less.
  CHECK(uut.restart_count() == 2);
  CHECK(uut.on_failure({7}, exited) == answer::restart);
  CHECK(uut.on_failure({8}, exited) == answer::give_up);
}

TEST_CASE("restart_policy: spent restarts are limited by the budget",
          "[core]") {
  auto uut = restart_policy{3};
  uut.restore(3, {});
  CHECK(uut.restart_count() == 3);
  uut.restore(4, {});
  CHECK(uut.restart_count() == 3);
  CHECK(uut.on_failure({1}, exited) == answer::give_up);
}

TEST_CASE("restart_policy: what a predecessor has charged is not charged again",
          "[core]") {
  auto uut = restart_policy{3};
  uut.restore(1, {7});
  uut.restore(0, {6});
  CHECK(uut.count_before({7}) == 0);
  CHECK(uut.count_before({8}) == 1);
  CHECK(uut.on_failure({7}, exited) == answer::collateral);
  CHECK(uut.on_failure({6}, exited) == answer::collateral);
  CHECK(uut.restart_count() == 1);
  CHECK(uut.on_failure({8}, exited) == answer::restart);
  CHECK(uut.restart_count() == 2);
  CHECK(uut.charged() == generation_id{8});
}

} // namespace actorrun::test::restart_policy_test
