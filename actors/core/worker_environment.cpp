#include "actorrun/actors/core/worker_environment.hpp"

#include <cassert>
#include <map>
#include <string_view>

namespace actorrun::core {

namespace {

using variables = std::map<std::string, std::string, std::less<>>;

variables read(std::span<const std::string> inherited) {
  auto result = variables{};
  for (const auto& x : inherited) {
    const auto equals = x.find('=');
    if (equals != x.npos && equals > 0)
      result.insert_or_assign(x.substr(0, equals), x.substr(equals + 1));
  }
  return result;
}

void set_ranks(variables& env, const epoch_plan& plan, uint32_t local_rank) {
  const auto set = [&env](const char* name, uint64_t value) {
    env.insert_or_assign(name, std::to_string(value));
  };
  set("LOCAL_RANK", local_rank);
  set("RANK", plan.own.first_global_rank + local_rank);
  set("WORLD_SIZE", plan.world_size);
  set("LOCAL_WORLD_SIZE", plan.own.slot_count);
  set("GROUP_RANK", plan.own.node_rank);
  set("GROUP_WORLD_SIZE", plan.node_count);
  set("ROLE_RANK", plan.own.first_role_rank + local_rank);
  set("ROLE_WORLD_SIZE", plan.own.role_world_size);
  set("MASTER_PORT", plan.master_port);
  set("TORCHELASTIC_RESTART_COUNT", plan.restart_count);
  set("ACTORRUN_EPOCH", plan.epoch.value);
}

// systemd's names. Its WATCHDOG_PID, if we have inherited one, names another
// process than the worker, which would then believe that it is not meant.
void set_timers(variables& env, const job_environment& job) {
  if (!job.timer_file.empty())
    env["TORCHELASTIC_TIMER_FILE"] = job.timer_file;
  if (job.notify_socket.empty())
    return;
  env["NOTIFY_SOCKET"] = job.notify_socket;
  env["WATCHDOG_USEC"] = std::to_string(job.watchdog.count());
  env.erase("WATCHDOG_PID");
}

} // namespace

std::vector<std::string>
worker_environment(std::span<const std::string> inherited,
                   const job_environment& job, const epoch_plan& plan,
                   uint32_t local_rank, const std::string& error_file) {
  assert(local_rank < plan.own.slot_count);
  auto env = read(inherited);
  set_ranks(env, plan, local_rank);
  env["ROLE_NAME"] = job.role;
  env["MASTER_ADDR"] = plan.master_address;
  env["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(job.restart_count_max);
  env["TORCHELASTIC_RUN_ID"] = job.job.value;
  // Rank 0 serves the store itself; workers test for the exact text.
  env["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  // torch's @record takes the empty text for none.
  env["TORCHELASTIC_ERROR_FILE"] = error_file;
  env["TORCHELASTIC_SIGNALS_TO_HANDLE"] = job.signals_to_handle;
  env["ACTORRUN_JOB_ID"] = job.job.value;
  set_timers(env, job);
  env.try_emplace("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  // Several workers with as many threads as cores each would fight over them.
  if (plan.own.slot_count > 1)
    env.try_emplace("OMP_NUM_THREADS", "1");
  auto result = std::vector<std::string>{};
  result.reserve(env.size());
  for (const auto& [name, value] : env)
    result.push_back(name + "=" + value);
  return result;
}

} // namespace actorrun::core
