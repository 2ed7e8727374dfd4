#include "cli/options/actorrun_options.hpp"
#include "cli/options/torchrun_options.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

using namespace actorrun;
using namespace actorrun::cli;

namespace {

std::string one_warning(const words& line, const variables& environment = {}) {
  const auto warnings = accepted(line, environment).warnings;
  REQUIRE(warnings.size() == 1);
  return warnings.front();
}

} // namespace

TEST_CASE("arguments: every option of torchrun is one of ours", "[cli]") {
  auto unused = run_settings{};
  const auto rules = run_rules(unused, [] { return 1u; });
  for (const auto name : torchrun_options()) {
    INFO(name);
    CHECK(std::count_if(rules.begin(), rules.end(),
                        [&](const auto& x) { return x.name == name; })
          == 1);
  }
  CHECK(torchrun_options().size() == 34);
  CHECK(is_torchrun_option("--rdzv-id"));
  CHECK_FALSE(is_torchrun_option("--rdzv_id"));
  CHECK_FALSE(is_torchrun_option("--version"));
}

TEST_CASE("arguments: start methods are checked, and said to be idle",
          "[cli]") {
  CHECK(accepted({"--start-method=spawn", "a"}).warnings.empty());
  CHECK(has(one_warning({"--start-method=forkserver", "a"}),
            "--start-method=forkserver has no effect"));
  CHECK(accepted({"a"}, {{"PET_START_METHOD", "fork"}}).warnings.empty());
}

TEST_CASE("arguments: events go to the console or nowhere", "[cli]") {
  CHECK(accepted({"--event-log-handler=console", "a"}).logs_events);
  for (const auto* name : {"null", "dynamic_rendezvous"})
    CHECK_FALSE(accepted({"--event-log-handler", name, "a"}).logs_events);
  CHECK(has(refused({"--event-log-handler=x", "a"}), "null and console"));
}

TEST_CASE("arguments: log specifications of Python are refused", "[cli]") {
  accepted({"--logs-specs=default", "a"});
  CHECK(has(refused({"--logs-specs=mine", "a"}), "--log-dir"));
  accepted({"a"}, {{"PET_LOGS_SPECS", "mine"}}); // torchrun reads none.
}

TEST_CASE("arguments: the launcher before torchrun asked for the environment",
          "[cli]") {
  for (const auto* name : {"--use-env", "--use_env"})
    CHECK(accepted({name, "a", "b"}).program.arguments == words{"b"});
  CHECK(has(accepted({"a"}, {{"PET_USE_ENV", "x"}}).warnings.at(0),
            "PET_USE_ENV has no effect"));
}

TEST_CASE("arguments: there is no option for metrics", "[cli]") {
  CHECK(has(refused({"--metrics-cfg=x", "a"}), "actorctl status --json"));
}

TEST_CASE("arguments: run-path wins over module and no-python", "[cli]") {
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

TEST_CASE("arguments: variables that mean nothing to us are named", "[cli]") {
  const auto port = std::string{"TORCHELASTIC_HEALTH_CHECK_PORT"};
  const auto warning = one_warning({"a"}, {{port, "8080"}});
  CHECK(warning.starts_with(port));
  CHECK(has(warning, "actorctl status"));
  CHECK(accepted({"a"}, {{port, ""}}).warnings.empty());
}

TEST_CASE("arguments: torchrun's word against a shared store counts", "[cli]") {
  const auto name = std::string{"TORCH_DISABLE_SHARE_RDZV_TCP_STORE"};
  CHECK(accepted({"a"}).agent.agent_store);
  CHECK_FALSE(accepted({"a"}, {{name, "1"}}).agent.agent_store);
  CHECK(accepted({"a"}, {{name, "0"}}).agent.agent_store);
  CHECK(accepted({"a"}, {{name, "1"}, {"PET_NO_AGENT_STORE", "0"}})
          .agent.agent_store);
}
