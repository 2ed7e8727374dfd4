#include "cli/options/store_options.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

using namespace actorrun;
using namespace actorrun::cli;

TEST_CASE("store: the agent serves it by default", "[cli]") {
  CHECK(accepted({"a"}).agent.agent_store);
  CHECK(agent_options{}.agent_store);
  CHECK(accepted({"a"}, {{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "0"}})
          .agent.agent_store);
}

TEST_CASE("store: the worker with rank 0 does if it is told to", "[cli]") {
  CHECK_FALSE(accepted({"--no-agent-store", "a"}).agent.agent_store);
  for (const auto* name :
       {"PET_NO_AGENT_STORE", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"})
    CHECK_FALSE(accepted({"a"}, {{name, "1"}}).agent.agent_store);
  CHECK(has(refused({"a"}, {{"PET_NO_AGENT_STORE", "maybe"}}),
            "PET_NO_AGENT_STORE"));
}
