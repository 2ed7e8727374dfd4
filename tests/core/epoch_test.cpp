#include "actors/core/epoch.hpp"
#include "tests/support/catch.hpp"

using namespace actorrun;
using namespace actorrun::core;

TEST_CASE("epoch: shares and verdicts have their names as text", "[core]") {
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

TEST_CASE("epoch: a default offer is one leased worker of the default role",
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
