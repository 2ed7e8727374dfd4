#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

namespace actorrun::test::worker_options_test {

using namespace actorrun::cli;

TEST_CASE("store: the agent serves it by default", "[cli]") {
  CHECK(accepted({"a"}).agent.agent_store);
  CHECK(agent_options{}.agent_store);
  CHECK(accepted({"a"}, {{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "0"}})
          .agent.agent_store);
}

TEST_CASE("store: the worker with rank 0 serves it on request", "[cli]") {
  CHECK_FALSE(accepted({"--no-agent-store", "a"}).agent.agent_store);
  for (const auto* name :
       {"PET_NO_AGENT_STORE", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"})
    CHECK_FALSE(accepted({"a"}, {{name, "1"}}).agent.agent_store);
  CHECK(has(refused({"a"}, {{"PET_NO_AGENT_STORE", "maybe"}}),
            "PET_NO_AGENT_STORE"));
}

TEST_CASE("arguments: run-path overrides module and no-python", "[cli]") {
  const auto x = accepted({"--run-path", "/a.py", "b"});
  CHECK(x.program.by_runpy);
  CHECK(x.program.name == "/a.py");
  CHECK(x.program.arguments == words{"b"});
  CHECK(x.warnings.empty());
  for (const auto& line : {words{"--run-path", "--no-python", "/a.py"},
                           words{"--run-path", "-m", "--no-python", "/a.py"}}) {
    const auto y = accepted(line);
    CHECK(y.program.by_runpy);
    CHECK_FALSE(y.program.is_module);
    CHECK_FALSE(y.program.no_python);
    CHECK(y.warnings.size() == 1);
  }
}

TEST_CASE("arguments: virtual local ranks need a device each", "[cli]") {
  const auto with = [](const std::string& devices) {
    return variables{{"CUDA_VISIBLE_DEVICES", devices}};
  };
  const auto line
    = words{"--virtual-local-rank", "--nproc-per-node=2", "train.py"};
  CHECK(accepted(line).agent.virtual_local_rank);
  CHECK(accepted(line, with("3,5")).agent.virtual_local_rank);
  const auto why = refused(line, with("3"));
  CHECK(why.starts_with("--virtual-local-rank: "));
  CHECK(has(why, "local rank 1"));
  CHECK_FALSE(
    accepted({"--nproc-per-node=2", "a"}, with("3")).agent.virtual_local_rank);
}

TEST_CASE("arguments: T2 hidden devices are given to no worker", "[cli]") {
  const auto hidden = variables{{"CUDA_VISIBLE_DEVICES", ""}};
  const auto line = [](const std::string& count) {
    return words{"--virtual-local-rank", "--nproc-per-node=" + count, "a"};
  };
  CHECK(accepted(line("1"), hidden).agent.visible_devices.empty());
  CHECK(has(refused(line("2"), hidden), "all devices are hidden"));
}

TEST_CASE("arguments: torchrun's option against a shared store counts",
          "[cli]") {
  const auto name = std::string{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE"};
  CHECK(accepted({"a"}).agent.agent_store);
  CHECK_FALSE(accepted({"a"}, {{name, "1"}}).agent.agent_store);
  CHECK(accepted({"a"}, {{name, "0"}}).agent.agent_store);
  CHECK(accepted({"a"}, {{name, "1"}, {"PET_NO_AGENT_STORE", "0"}})
          .agent.agent_store);
}

} // namespace actorrun::test::worker_options_test
