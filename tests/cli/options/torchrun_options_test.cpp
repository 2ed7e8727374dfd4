#include "cli/options/actorrun_options.hpp"
#include "cli/options/torchrun_options.hpp"
#include "tests/cli/options/arguments_fixture.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>

namespace actorrun::test::torchrun_options_test {

using namespace actorrun::cli;

namespace {

std::string one_warning(const words& line, const variables& environment = {}) {
  const auto warnings = accepted(line, environment).warnings;
  REQUIRE(warnings.size() == 1);
  return warnings.front();
}

} // namespace

TEST_CASE("arguments: every option of torchrun is accepted", "[cli]") {
  const auto options = describe(*run_program{}.app).options;
  for (const auto name : torchrun_options()) {
    INFO(name);
    CHECK(std::count_if(options.begin(), options.end(),
                        [&](const auto& x) { return x.name == name; })
          == 1);
  }
  CHECK(torchrun_options().size() == 34);
  CHECK(is_torchrun_option("--rdzv-id"));
  CHECK_FALSE(is_torchrun_option("--rdzv_id"));
  CHECK_FALSE(is_torchrun_option("--version"));
}

TEST_CASE("arguments: start methods are checked, and get a warning", "[cli]") {
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
  // torchrun does not read this variable.
  accepted({"a"}, {{"PET_LOGS_SPECS", "mine"}});
}

TEST_CASE("arguments: --use-env of torch.distributed.launch is accepted",
          "[cli]") {
  for (const auto* name : {"--use-env", "--use_env"})
    CHECK(accepted({name, "a", "b"}).program.arguments == words{"b"});
  CHECK(has(accepted({"a"}, {{"PET_USE_ENV", "x"}}).warnings.at(0),
            "PET_USE_ENV has no effect"));
}

TEST_CASE("arguments: a script may get its local rank as an argument",
          "[cli]") {
  const auto arguments = [](const words& line, const std::string& program) {
    const auto x = parse_run(line, world_with({}), program);
    REQUIRE(x);
    return std::get<run_arguments>(*x).program.arguments;
  };
  const auto given = words{"--local-rank=${local_rank}", "b"};
  CHECK(arguments({"--pass-local-rank", "a", "b"}, "actorrun") == given);
  CHECK(arguments({"a", "b"}, "/bin/torch.distributed.launch") == given);
  CHECK(arguments({"-m", "a", "b"}, "torch.distributed.launch") == given);
  CHECK(arguments({"--use-env", "a", "b"}, "torch.distributed.launch")
        == words{"b"});
  for (const auto* other :
       {"actorrun", "torchrun", "/torch.distributed.launch/x",
        "my.torch.distributed.launch", ""})
    CHECK(arguments({"a", "b"}, other) == words{"b"});
  CHECK(accepted({"a"}, {{"PET_PASS_LOCAL_RANK", "1"}}).program.arguments
        == words{"--local-rank=${local_rank}"});
}

TEST_CASE("arguments: there is no option for metrics", "[cli]") {
  CHECK(has(refused({"--metrics-cfg=x", "a"}), "actorctl status --json"));
}

TEST_CASE("arguments: torchrun's variable asks for a port for probes",
          "[cli]") {
  const auto port = std::string{"TORCHELASTIC_HEALTH_CHECK_PORT"};
  CHECK(accepted({"a"}, {{port, "8080"}}).http.health
        == endpoint{"127.0.0.1", 8080});
  CHECK(accepted({"a"}, {{port, "0.0.0.0:8080"}}).http.health
        == endpoint{"0.0.0.0", 8080});
  CHECK(!accepted({"a"}, {{port, ""}}).http.health);
  const auto warning = one_warning({"a"}, {{port, "eight"}});
  CHECK(warning.starts_with(port));
  CHECK(has(warning, "\"eight\""));
}

TEST_CASE("variables: a misspelled PET_… gets a warning with a suggestion",
          "[cli]") {
  CHECK(accepted({"a"}, {{"PET_NPROC_PERNODE", "2"}}).warnings
        == words{"PET_NPROC_PERNODE has no effect: no option reads it; is"
                 " PET_NPROC_PER_NODE meant?"});
  CHECK(accepted({"a"}, {{"PET_ANIMAL", "cat"}}).warnings
        == words{"PET_ANIMAL has no effect: no option reads it"});
  // torchrun does not read a variable for this option.
  CHECK(has(accepted({"a"}, {{"PET_NUMA_BINDING", "node"}}).warnings.at(0),
            "PET_NUMA_BINDING has no effect"));
}

TEST_CASE(
  "variables: known variables, and those of other programs, get no warning",
  "[cli]") {
  CHECK(accepted({"a"}, {{"PET_NPROC_PER_NODE", "2"},
                         {"PET_MAX_RESTARTS", "1"},
                         {"PETS", "2"},
                         {"TORCHELASTIC_RUN_ID", "x"},
                         {"HOME", "/"}})
          .warnings.empty());
}

TEST_CASE("variables: an empty value that is refused gets a hint", "[cli]") {
  CHECK(refused({"a"}, {{"PET_NNODES", ""}})
        == "PET_NNODES: \"\" is not an integer in 1..100000; it is set and"
           " empty: unset it, or give it a value");
  CHECK(refused({"--nnodes= ", "a"})
        == "--nnodes: \" \" is not an integer in 1..100000; the value is empty,"
           " maybe a variable of the shell is not set");
  CHECK(has(refused({"--secret-file=", "a"}), "no file is named"));
}

} // namespace actorrun::test::torchrun_options_test
