#include "actors/core/generation.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::generation_test {

using namespace actorrun::core;

TEST_CASE("generation: shares and verdicts have their names as text",
          "[core]") {
  CHECK(to_string(share_state::idle) == "idle");
  CHECK(to_string(share_state::starting) == "starting");
  CHECK(to_string(share_state::running) == "running");
  CHECK(to_string(share_state::succeeded) == "succeeded");
  CHECK(to_string(share_state::failed) == "failed");
  CHECK(to_string(share_state::stopping) == "stopping");
  CHECK(to_string(share_state{99}) == "unknown");
  CHECK(to_string(outcome::verdict::succeeded) == "succeeded");
  CHECK(to_string(outcome::verdict::failed) == "failed");
  CHECK(to_string(outcome::verdict::stopped) == "stopped");
  CHECK(to_string(outcome::verdict::unmet) == "unmet");
  CHECK(to_string(outcome::verdict{99}) == "unknown");
}

TEST_CASE("generation: a plan fits the offer of its agent, and itself",
          "[core]") {
  auto own = offer{};
  own.agent = {"a"};
  own.slot_count = 2;
  const auto good = generation_plan{.generation = {7},
                                    .own = {.agent = {"a"},
                                            .node_rank = 1,
                                            .slot_count = 2,
                                            .first_global_rank = 2,
                                            .first_role_rank = 1,
                                            .role_world_size = 3},
                                    .node_count = 2,
                                    .world_size = 4,
                                    .master_address = "10.0.0.1",
                                    .master_port = 29'500,
                                    .restart_count = 0};
  CHECK(check_plan(good, own));
  const auto fits = [&](auto change) {
    auto x = good;
    change(x);
    const auto ok = check_plan(x, own);
    CHECK((ok || ok.error().code == errc::bad_plan));
    return bool{ok};
  };
  CHECK_FALSE(fits([](auto& x) { x.own.agent = {"b"}; }));
  CHECK_FALSE(fits([](auto& x) { x.own.slot_count = 1; }));
  CHECK_FALSE(fits([](auto& x) { x.own.slot_count = 4'000'000'000; }));
  CHECK_FALSE(fits([](auto& x) { x.generation = {0}; }));
  CHECK(fits([](auto& x) { x.generation = generation_max; }));
  CHECK_FALSE(fits([](auto& x) { x.generation = {generation_max.value + 1}; }));
  CHECK_FALSE(fits([](auto& x) { x.own.node_rank = 2; }));
  CHECK_FALSE(fits([](auto& x) { x.node_count = 5; }));
  CHECK(fits([](auto& x) { x.node_count = 4; }));
  CHECK_FALSE(fits([](auto& x) { x.own.first_global_rank = 3; }));
  CHECK_FALSE(fits([](auto& x) { x.own.first_global_rank = ~0U; }));
  CHECK_FALSE(fits([](auto& x) { x.own.first_role_rank = 2; }));
  CHECK_FALSE(fits([](auto& x) { x.own.role_world_size = 5; }));
  CHECK_FALSE(fits([](auto& x) { x.master_address.clear(); }));
  CHECK_FALSE(fits([](auto& x) { x.master_address = "$(reboot)"; }));
  CHECK_FALSE(fits([](auto& x) { x.master_port = 0; }));
  own.node_rank = 0;
  CHECK_FALSE(check_plan(good, own));
  own.node_rank = 1;
  CHECK(check_plan(good, own));
}

TEST_CASE(
  "generation: a default offer is one leased worker of the default role",
  "[core]") {
  const auto x = offer{};
  CHECK(x.slot_count == 1);
  CHECK(x.role == "default");
  CHECK(x.leased);
  CHECK(x == offer{});
  auto y = x;
  y.master_port = 1;
  CHECK(x != y);
}

TEST_CASE(
  "generation: an ending has succeeded if the job has, and nothing went "
  "wrong here",
  "[core]") {
  CHECK_FALSE(ending{}.succeeded()); // It left; the job goes on.
  auto x = ending{.result = outcome{}, .why = {}, .signal = 0};
  CHECK(x.succeeded());
  x.why = failure{errc::worker_unkillable, "worker 1 hangs"};
  CHECK_FALSE(x.succeeded());
  for (const auto kind : {outcome::verdict::failed, outcome::verdict::stopped,
                          outcome::verdict::unmet})
    CHECK_FALSE(ending{.result = outcome{.kind = kind}, .why = {}, .signal = 0}
                  .succeeded());
}

} // namespace actorrun::test::generation_test
