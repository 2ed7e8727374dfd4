#include "actors/core/protocol/rank_assignment.hpp"
#include "actors/core/workers/worker_environment.hpp"
#include "tests/support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace actorrun::test::worker_environment_test {

using namespace actorrun::core;

namespace {

using lines = std::vector<std::string>;

offer offered(const std::string& agent, uint32_t slot_count,
              const std::string& role = "default") {
  auto x = offer{};
  x.agent = {agent};
  x.slot_count = slot_count;
  x.role = role;
  return x;
}

/// The plan of each node of generation 4, after one restart.
std::vector<generation_plan> plans(const std::vector<offer>& offers) {
  const auto placements = assign_ranks(offers);
  REQUIRE(placements);
  const auto& last = placements->back();
  auto result = std::vector<generation_plan>{};
  for (const auto& x : *placements)
    result.push_back({.generation = {4},
                      .own = x,
                      .node_count = uint32_t(offers.size()),
                      .world_size = last.first_global_rank + last.slot_count,
                      .master_address = "10.0.0.1",
                      .master_port = 29501,
                      .restart_count = 1});
  return result;
}

const auto training = job_environment{{"llm"}, "default", 3};

lines environment(const lines& inherited, uint32_t slot_count = 1) {
  return worker_environment(inherited, training,
                            plans({offered("a", slot_count)})[0], 0);
}

/// `NAME=value` of one variable; "" if it is not set.
std::string variable(const lines& all, const std::string& name) {
  const auto i = std::find_if(all.begin(), all.end(), [&](const auto& x) {
    return x.starts_with(name + "=");
  });
  return i == all.end() ? "" : *i;
}

/// The variables that differ between workers, in torchrun's order:
/// `LOCAL_RANK RANK WORLD_SIZE LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE
/// ROLE_RANK ROLE_WORLD_SIZE ROLE_NAME`.
std::string ranks(const lines& all) {
  auto text = std::string{};
  for (const auto* name :
       {"LOCAL_RANK", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK",
        "GROUP_WORLD_SIZE", "ROLE_RANK", "ROLE_WORLD_SIZE", "ROLE_NAME"}) {
    const auto line = variable(all, name);
    REQUIRE(!line.empty());
    text += (text.empty() ? "" : " ") + line.substr(line.find('=') + 1);
  }
  return text;
}

} // namespace

TEST_CASE("worker_environment: one node of four workers", "[core]") {
  const auto plan = plans({offered("a", 4)})[0];
  CHECK(worker_environment(lines{"PATH=/bin"}, training, plan, 3)
        == lines{"ACTORRUN_EPOCH=4",
                 "ACTORRUN_FENCING_TOKEN=4",
                 "ACTORRUN_GENERATION=4",
                 "ACTORRUN_JOB_ID=llm",
                 "GROUP_RANK=0",
                 "GROUP_WORLD_SIZE=1",
                 "LOCAL_RANK=3",
                 "LOCAL_WORLD_SIZE=4",
                 "MASTER_ADDR=10.0.0.1",
                 "MASTER_PORT=29501",
                 "OMP_NUM_THREADS=1",
                 "PATH=/bin",
                 "RANK=3",
                 "ROLE_NAME=default",
                 "ROLE_RANK=3",
                 "ROLE_WORLD_SIZE=4",
                 "TORCHELASTIC_ERROR_FILE=",
                 "TORCHELASTIC_MAX_RESTARTS=3",
                 "TORCHELASTIC_RESTART_COUNT=1",
                 "TORCHELASTIC_RUN_ID=llm",
                 "TORCHELASTIC_SIGNALS_TO_HANDLE=SIGTERM,SIGINT,SIGHUP,SIGQUIT",
                 "TORCHELASTIC_USE_AGENT_STORE=False",
                 "TORCH_NCCL_ASYNC_ERROR_HANDLING=1",
                 "WORLD_SIZE=4"});
  for (uint32_t i = 0; i < 4; ++i) {
    const auto rank = std::to_string(i);
    CHECK(ranks(worker_environment({}, training, plan, i))
          == rank + " " + rank + " 4 4 0 1 " + rank + " 4 default");
  }
}

TEST_CASE("worker_environment: two nodes of two workers", "[core]") {
  const auto all = plans({offered("a", 2), offered("b", 2)});
  CHECK(worker_environment({}, training, all[1], 0)
        == lines{"ACTORRUN_EPOCH=4",
                 "ACTORRUN_FENCING_TOKEN=4",
                 "ACTORRUN_GENERATION=4",
                 "ACTORRUN_JOB_ID=llm",
                 "GROUP_RANK=1",
                 "GROUP_WORLD_SIZE=2",
                 "LOCAL_RANK=0",
                 "LOCAL_WORLD_SIZE=2",
                 "MASTER_ADDR=10.0.0.1",
                 "MASTER_PORT=29501",
                 "OMP_NUM_THREADS=1",
                 "RANK=2",
                 "ROLE_NAME=default",
                 "ROLE_RANK=2",
                 "ROLE_WORLD_SIZE=4",
                 "TORCHELASTIC_ERROR_FILE=",
                 "TORCHELASTIC_MAX_RESTARTS=3",
                 "TORCHELASTIC_RESTART_COUNT=1",
                 "TORCHELASTIC_RUN_ID=llm",
                 "TORCHELASTIC_SIGNALS_TO_HANDLE=SIGTERM,SIGINT,SIGHUP,SIGQUIT",
                 "TORCHELASTIC_USE_AGENT_STORE=False",
                 "TORCH_NCCL_ASYNC_ERROR_HANDLING=1",
                 "WORLD_SIZE=4"});
  const char* expected[]
    = {"0 0 4 2 0 2 0 4 default", "1 1 4 2 0 2 1 4 default",
       "0 2 4 2 1 2 2 4 default", "1 3 4 2 1 2 3 4 default"};
  for (uint32_t i = 0; i < 4; ++i)
    CHECK(ranks(worker_environment({}, training, all[i / 2], i % 2))
          == expected[i]);
}

TEST_CASE("worker_environment: three trainers and one reader", "[core]") {
  const auto all
    = plans({offered("a", 3, "trainer"), offered("b", 1, "reader")});
  const auto trainer = job_environment{{"llm"}, "trainer", 3};
  const auto reader = job_environment{{"llm"}, "reader", 3};
  CHECK(ranks(worker_environment({}, trainer, all[0], 0))
        == "0 0 4 3 0 2 0 3 trainer");
  CHECK(ranks(worker_environment({}, trainer, all[0], 1))
        == "1 1 4 3 0 2 1 3 trainer");
  CHECK(ranks(worker_environment({}, trainer, all[0], 2))
        == "2 2 4 3 0 2 2 3 trainer");
  CHECK(ranks(worker_environment({}, reader, all[1], 0))
        == "0 3 4 1 1 2 0 1 reader");
}

TEST_CASE("worker_environment: inherited variables are overridden", "[core]") {
  const auto fresh = environment({});
  auto inherited = lines{};
  for (const auto& x : fresh)
    if (!x.starts_with("TORCH_NCCL"))
      inherited.push_back(x.substr(0, x.find('=')) + "=stale");
  CHECK(environment(inherited) == fresh);
}

TEST_CASE("worker_environment: T3 a worker that is started ahead has no rank",
          "[core]") {
  auto plan = generation_plan{};
  plan.generation = {4};
  plan.own.agent = {"a"};
  plan.own.slot_count = 2;
  plan.restart_count = 1;
  plan.is_ahead = true;
  const auto inherited
    = lines{"RANK=7", "MASTER_ADDR=b", "WORLD_SIZE=9", "ACTORRUN_GENERATION=3"};
  const auto env = worker_environment(inherited, training, plan, 1);
  for (const auto* name :
       {"RANK", "WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK",
        "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
        "TORCHELASTIC_RESTART_COUNT", "ACTORRUN_GENERATION",
        "ACTORRUN_FENCING_TOKEN", "ACTORRUN_EPOCH"})
    CHECK(variable(env, name) == "");
  CHECK(variable(env, "ACTORRUN_AHEAD") == "ACTORRUN_AHEAD=1");
  CHECK(variable(env, "LOCAL_RANK") == "LOCAL_RANK=1");
  CHECK(variable(env, "LOCAL_WORLD_SIZE") == "LOCAL_WORLD_SIZE=2");
  CHECK(variable(env, "TORCHELASTIC_RUN_ID") == "TORCHELASTIC_RUN_ID=llm");
  // A launcher that such a worker has started gives its own workers ranks.
  CHECK(variable(environment(env), "ACTORRUN_AHEAD") == "");
}

TEST_CASE("worker_environment: everything else passes through", "[core]") {
  const auto env = environment({"HOME=/home/a", "CUDA_VISIBLE_DEVICES=2,3",
                                "TORCHELASTIC_TIMER_FILE=/run/timer",
                                "EMPTY=", "EQUATION=a=b=c", "LINES=a\nb"});
  CHECK(variable(env, "HOME") == "HOME=/home/a");
  CHECK(variable(env, "CUDA_VISIBLE_DEVICES") == "CUDA_VISIBLE_DEVICES=2,3");
  CHECK(variable(env, "TORCHELASTIC_TIMER_FILE")
        == "TORCHELASTIC_TIMER_FILE=/run/timer");
  CHECK(variable(env, "EMPTY") == "EMPTY=");
  CHECK(variable(env, "EQUATION") == "EQUATION=a=b=c");
  CHECK(variable(env, "LINES") == "LINES=a\nb");
}

TEST_CASE("worker_environment: names are unique and in order", "[core]") {
  const auto env = environment({"Z=1", "A=1", "Z=2", "RANK=7", "A=", "Z=3"});
  CHECK(variable(env, "Z") == "Z=3");
  CHECK(variable(env, "A") == "A=");
  auto names = lines{};
  for (const auto& x : env)
    names.push_back(x.substr(0, x.find('=')));
  CHECK(std::is_sorted(names.begin(), names.end()));
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("worker_environment: invalid entries are left out", "[core]") {
  const auto fresh = environment({});
  CHECK(environment({"", "NAME", "=", "=value"}) == fresh);
}

TEST_CASE("worker_environment: one worker may use all cores", "[core]") {
  CHECK(variable(environment({}, 1), "OMP_NUM_THREADS") == "");
  CHECK(variable(environment({}, 2), "OMP_NUM_THREADS") == "OMP_NUM_THREADS=1");
  CHECK(variable(environment({"OMP_NUM_THREADS=8"}, 1), "OMP_NUM_THREADS")
        == "OMP_NUM_THREADS=8");
  CHECK(variable(environment({"OMP_NUM_THREADS=8"}, 2), "OMP_NUM_THREADS")
        == "OMP_NUM_THREADS=8");
}

TEST_CASE("worker_environment: NCCL's error handling can be chosen", "[core]") {
  const auto name = std::string{"TORCH_NCCL_ASYNC_ERROR_HANDLING"};
  CHECK(variable(environment({}), name) == name + "=1");
  CHECK(variable(environment({name + "=0"}), name) == name + "=0");
  CHECK(variable(environment({name + "="}), name) == name + "=");
}

TEST_CASE("worker_environment: the largest numbers fit", "[core]") {
  auto plan = plans({offered("a", 4096)})[0];
  plan.own.first_global_rank = 409'600'000u - 4096u;
  plan.world_size = 409'600'000u;
  plan.generation = {UINT64_MAX};
  plan.master_port = 65535;
  plan.restart_count = UINT32_MAX;
  const auto job = job_environment{{"j"}, "", UINT32_MAX};
  const auto env = worker_environment({}, job, plan, 4095);
  CHECK(variable(env, "RANK") == "RANK=409599999");
  CHECK(variable(env, "WORLD_SIZE") == "WORLD_SIZE=409600000");
  CHECK(variable(env, "LOCAL_RANK") == "LOCAL_RANK=4095");
  CHECK(variable(env, "MASTER_PORT") == "MASTER_PORT=65535");
  CHECK(variable(env, "ROLE_NAME") == "ROLE_NAME=");
  CHECK(variable(env, "ACTORRUN_GENERATION") == "ACTORRUN_GENERATION=1048575");
  CHECK(variable(env, "ACTORRUN_FENCING_TOKEN")
        == "ACTORRUN_FENCING_TOKEN=18446744073709551615");
  CHECK(variable(env, "TORCHELASTIC_RESTART_COUNT")
        == "TORCHELASTIC_RESTART_COUNT=4294967295");
  CHECK(variable(env, "TORCHELASTIC_MAX_RESTARTS")
        == "TORCHELASTIC_MAX_RESTARTS=4294967295");
}

TEST_CASE("worker_environment: workers learn whose store it is", "[core]") {
  const auto name = std::string{"TORCHELASTIC_USE_AGENT_STORE"};
  auto job = training;
  const auto plan = plans({offered("a", 1)})[0];
  CHECK(variable(worker_environment({}, job, plan, 0), name)
        == name + "=False");
  job.agent_store = true;
  CHECK(variable(worker_environment({}, job, plan, 0), name) == name + "=True");
}

TEST_CASE("worker_environment: a worker with a virtual rank sees one device",
          "[core]") {
  const auto name = std::string{"CUDA_VISIBLE_DEVICES"};
  auto job = training;
  job.virtual_local_rank = true;
  const auto plan = plans({offered("a", 2)})[0];
  const auto seen = [&](const lines& inherited, uint32_t local_rank) {
    const auto env = worker_environment(inherited, job, plan, local_rank);
    CHECK(variable(env, "LOCAL_RANK") == "LOCAL_RANK=0");
    CHECK(variable(env, "RANK") == "RANK=" + std::to_string(local_rank));
    CHECK(variable(env, "LOCAL_WORLD_SIZE") == "LOCAL_WORLD_SIZE=2");
    return variable(env, name);
  };
  CHECK(seen({}, 0) == name + "=0");
  CHECK(seen({}, 1) == name + "=1");
  CHECK(seen({name + "=4, GPU-8f2e ,6"}, 0) == name + "=4");
  CHECK(seen({name + "=4, GPU-8f2e ,6"}, 1) == name + "=GPU-8f2e");
  // None, rather than another worker's.
  CHECK(seen({name + "=4"}, 1) == name + "=");
  job.visible_devices = {"7", "5"};
  CHECK(seen({name + "=4,6"}, 0) == name + "=7");
  CHECK(seen({name + "=4,6"}, 1) == name + "=5");
}

TEST_CASE("worker_environment: a worker with a virtual rank sees no device that"
          " is hidden (T2)",
          "[core]") {
  const auto name = std::string{"CUDA_VISIBLE_DEVICES"};
  auto job = training;
  job.virtual_local_rank = true;
  const auto plan = plans({offered("a", 2)})[0];
  const auto seen = [&](const std::string& inherited, uint32_t local_rank) {
    return variable(
      worker_environment(lines{name + "=" + inherited}, job, plan, local_rank),
      name);
  };
  CHECK(seen("", 0) == name + "=");
  CHECK(seen("", 1) == name + "=");
  CHECK(seen("-1", 0) == name + "=-1");
}

TEST_CASE("worker_environment: the workers of a node share its devices",
          "[core]") {
  auto job = training;
  job.visible_devices = {"0", "GPU-8f2e"};
  const auto plan = plans({offered("a", 2)})[0];
  for (uint32_t i = 0; i < 2; ++i) {
    const auto env
      = worker_environment(lines{"CUDA_VISIBLE_DEVICES=4"}, job, plan, i);
    CHECK(variable(env, "CUDA_VISIBLE_DEVICES")
          == "CUDA_VISIBLE_DEVICES=0,GPU-8f2e");
    CHECK(variable(env, "LOCAL_RANK") == "LOCAL_RANK=" + std::to_string(i));
  }
}

TEST_CASE("worker_environment: device names are cut at commas", "[core]") {
  CHECK(device_names("") == lines{""});
  CHECK(device_names(" , ,") == lines{""});
  CHECK(device_names("3") == lines{"3"});
  CHECK(device_names(" 0,\tGPU-1 ,MIG-2,") == lines{"0", "GPU-1", "MIG-2"});
}

TEST_CASE("worker_environment: each local rank has a device or none",
          "[core]") {
  CHECK(*device_of({}, 4'095) == "4095");
  CHECK(*device_of({"4", "6"}, 1) == "6");
  const auto none = device_of({"4", "6"}, 2);
  REQUIRE_FALSE(none);
  CHECK(none.error()
        == failure{errc::bad_argument,
                   "there is no device for local rank 2: the devices are 4,6"});
}

TEST_CASE("worker_environment: timers and watchdog are announced by the "
          "names that programs know",
          "[core]") {
  auto job = job_environment{};
  job.timer_file = "/run/timers";
  job.notify_socket = "/run/notify";
  job.watchdog = std::chrono::milliseconds{1500};
  const auto plan = plans({offered("a", 1)})[0];
  const auto env = worker_environment(
    lines{"TORCHELASTIC_TIMER_FILE=/stale", "NOTIFY_SOCKET=/systemd",
          "WATCHDOG_USEC=1", "WATCHDOG_PID=1"},
    job, plan, 0);
  CHECK(variable(env, "TORCHELASTIC_TIMER_FILE")
        == "TORCHELASTIC_TIMER_FILE=/run/timers");
  CHECK(variable(env, "NOTIFY_SOCKET") == "NOTIFY_SOCKET=/run/notify");
  CHECK(variable(env, "WATCHDOG_USEC") == "WATCHDOG_USEC=1500000");
  CHECK(variable(env, "WATCHDOG_PID") == "");
  job.notify_socket.clear();
  const auto without
    = worker_environment(lines{"WATCHDOG_PID=1"}, job, plan, 0);
  CHECK(variable(without, "WATCHDOG_USEC") == "");
  CHECK(variable(without, "WATCHDOG_PID") == "WATCHDOG_PID=1");
}

TEST_CASE("worker_environment: what a worker that lives on is told anew",
          "[core]") {
  auto plan = plans({offered("a", 3), offered("b", 3)})[0];
  plan.own.lead_slot = 2;
  const auto all = worker_environment({}, training, plan, 2);
  const auto told = generation_environment(training, plan, 2);
  CHECK(variable(told, "RANK") == "RANK=0");
  CHECK(variable(generation_environment(training, plan, 0), "RANK")
        == "RANK=2");
  CHECK(variable(generation_environment(training, plan, 0), "ROLE_RANK")
        == "ROLE_RANK=2");
  for (const auto& line : told)
    CHECK(std::find(all.begin(), all.end(), line) != all.end());
  for (const auto* name :
       {"WORLD_SIZE", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE",
        "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "ACTORRUN_GENERATION",
        "ACTORRUN_FENCING_TOKEN", "ACTORRUN_EPOCH",
        "TORCHELASTIC_RESTART_COUNT"})
    CHECK_FALSE(variable(told, name).empty());
  CHECK(variable(told, "LOCAL_RANK") == "LOCAL_RANK=2");
  auto alone = training; // With virtual local ranks it is not the slot.
  alone.virtual_local_rank = true;
  CHECK(variable(generation_environment(alone, plan, 2), "LOCAL_RANK")
        == "LOCAL_RANK=0");
}

TEST_CASE("worker_environment: where its agent listens", "[core]") {
  CHECK(variable(environment({}), "ACTORRUN_CONTROL").empty());
  auto job = training;
  job.control_socket = "/run/c";
  CHECK(variable(worker_environment({}, job, plans({offered("a", 1)})[0], 0),
                 "ACTORRUN_CONTROL")
        == "ACTORRUN_CONTROL=/run/c");
}

TEST_CASE("worker_environment: where it says how long its steps take",
          "[core]") {
  // That of a launcher above is not for its workers.
  CHECK(variable(environment({"ACTORRUN_STEPS=/run/above."}), "ACTORRUN_STEPS")
          .empty());
  auto job = training;
  job.steps_prefix = "/run/7.";
  CHECK(variable(worker_environment({}, job, plans({offered("a", 1)})[0], 0),
                 "ACTORRUN_STEPS")
        == "ACTORRUN_STEPS=/run/7.");
}

TEST_CASE(
  "worker_environment: T3 a spare has no rank of any kind until it has a "
  "place",
  "[core]") {
  const auto plan = plans({offered("a", 3)})[0];
  const auto env = spare_environment(lines{"RANK=7", "LOCAL_RANK=7", "A=1"},
                                     training, plan, "/logs/error.json");
  for (const auto* name : {"RANK", "LOCAL_RANK", "ROLE_RANK", "GROUP_RANK",
                           "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"})
    CHECK(variable(env, name) == "");
  CHECK(variable(env, "ACTORRUN_AHEAD") == "ACTORRUN_AHEAD=1");
  CHECK(variable(env, "LOCAL_WORLD_SIZE") == "LOCAL_WORLD_SIZE=3");
  CHECK(variable(env, "TORCHELASTIC_ERROR_FILE")
        == "TORCHELASTIC_ERROR_FILE=/logs/error.json");
  CHECK(variable(env, "A") == "A=1");
  CHECK(variable(generation_environment(training, plan, 2), "LOCAL_RANK")
        == "LOCAL_RANK=2");
}

TEST_CASE("worker_environment: where NCCL's RAS service listens", "[core]") {
  CHECK(variable(environment({"NCCL_RAS_ADDR=localhost:7"}), "NCCL_RAS_ADDR")
        == "NCCL_RAS_ADDR=localhost:7");
  auto job = training;
  job.ras_address = "127.0.0.1:8";
  const auto inherited = std::vector<std::string>{"NCCL_RAS_ADDR=localhost:7"};
  CHECK(
    variable(worker_environment(inherited, job, plans({offered("a", 1)})[0], 0),
             "NCCL_RAS_ADDR")
    == "NCCL_RAS_ADDR=127.0.0.1:8");
}

} // namespace actorrun::test::worker_environment_test
