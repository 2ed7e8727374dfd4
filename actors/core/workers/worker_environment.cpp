#include "actors/core/workers/worker_environment.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <string_view>

namespace actorrun::core {

namespace {

constexpr auto ahead_variable = "ACTORRUN_AHEAD";

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

// A worker keeps its slot, and what that means for its devices, for life.
void set_ranks(variables& env, const generation_plan& plan,
               uint32_t local_rank) {
  const auto set = [&env](const char* name, uint64_t value) {
    env.insert_or_assign(name, std::to_string(value));
  };
  set("RANK", plan.own.global_rank(local_rank));
  set("WORLD_SIZE", plan.world_size);
  set("LOCAL_WORLD_SIZE", plan.own.slot_count);
  set("GROUP_RANK", plan.own.node_rank);
  set("GROUP_WORLD_SIZE", plan.node_count);
  set("ROLE_RANK", plan.own.role_rank(local_rank));
  set("ROLE_WORLD_SIZE", plan.own.role_world_size);
  env["MASTER_ADDR"] = plan.master_address;
  set("MASTER_PORT", plan.master_port);
  set("TORCHELASTIC_RESTART_COUNT", plan.restart_count);
  set("ACTORRUN_GENERATION", number_of(plan.generation));
  set("ACTORRUN_FENCING_TOKEN", plan.generation.value);
  // Their former name, for a release.
  set("ACTORRUN_EPOCH", plan.generation.value);
}

// Whoever takes these for a worker of a generation fails, as there is no rank: an
// inherited one is that of another launcher.
void clear_ranks(variables& env, const generation_plan& plan,
                 uint32_t local_rank) {
  auto ranks = variables{};
  set_ranks(ranks, plan, local_rank);
  for (const auto& [name, value] : ranks)
    env.erase(name);
  env["LOCAL_WORLD_SIZE"] = std::to_string(plan.own.slot_count);
  env[ahead_variable] = "1";
}

std::vector<std::string> lines_of(const variables& env) {
  auto out = std::vector<std::string>{};
  out.reserve(env.size());
  for (const auto& [name, value] : env)
    out.push_back(name + "=" + value);
  return out;
}

std::string joined(const std::vector<std::string>& names) {
  auto out = std::string{};
  for (const auto& x : names)
    out += (out.empty() ? "" : ",") + x;
  return out;
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

// What is inherited counts as the node's devices, too: a batch system gives a
// job its share of them so.
void set_devices(variables& env, const job_environment& job,
                 uint32_t local_rank) {
  constexpr auto name = "CUDA_VISIBLE_DEVICES";
  if (!job.virtual_local_rank) {
    if (!job.visible_devices.empty())
      env[name] = joined(job.visible_devices);
    return;
  }
  const auto inherited = env.find(name);
  const auto devices = job.visible_devices.empty() && inherited != env.end()
                         ? device_names(inherited->second)
                         : job.visible_devices;
  const auto device = device_of(devices, local_rank);
  env["LOCAL_RANK"] = "0";
  env[name] = device ? *device : std::string{};
}

} // namespace

std::vector<std::string> device_names(std::string_view visible) {
  constexpr auto white_space = std::string_view{" \t"};
  auto out = std::vector<std::string>{};
  while (!visible.empty()) {
    const auto end = std::min(visible.find(','), visible.size());
    auto name = visible.substr(0, end);
    visible.remove_prefix(std::min(end + 1, visible.size()));
    const auto first = name.find_first_not_of(white_space);
    const auto last = name.find_last_not_of(white_space);
    if (first != name.npos)
      out.emplace_back(name.substr(first, last - first + 1));
  }
  if (out.empty())
    out.emplace_back();
  return out;
}

result<std::string> device_of(const std::vector<std::string>& devices,
                              uint32_t local_rank) {
  if (devices.empty())
    return std::to_string(local_rank);
  if (local_rank < devices.size())
    return devices[local_rank];
  const auto names = joined(devices);
  return bad_argument(
    "there is no device for local rank " + std::to_string(local_rank) + ": "
    + (names.empty() ? "all devices are hidden" : "the devices are " + names));
}

namespace {

variables all_variables(std::span<const std::string> inherited,
                        const job_environment& job, const generation_plan& plan,
                        uint32_t local_rank, const std::string& error_file) {
  auto env = read(inherited);
  env["LOCAL_RANK"] = std::to_string(local_rank);
  env.erase(ahead_variable); // Of a worker that has started this launcher.
  if (plan.is_ahead)
    clear_ranks(env, plan, local_rank);
  else
    set_ranks(env, plan, local_rank);
  env["ROLE_NAME"] = job.role;
  env["TORCHELASTIC_MAX_RESTARTS"] = std::to_string(job.restart_count_max);
  env["TORCHELASTIC_RUN_ID"] = job.job.value;
  // Workers test for the exact text.
  env["TORCHELASTIC_USE_AGENT_STORE"] = job.agent_store ? "True" : "False";
  // torch's @record takes the empty text for none.
  env["TORCHELASTIC_ERROR_FILE"] = error_file;
  env["TORCHELASTIC_SIGNALS_TO_HANDLE"] = job.signals_to_handle;
  env["ACTORRUN_JOB_ID"] = job.job.value;
  if (!job.control_socket.empty())
    env["ACTORRUN_CONTROL"] = job.control_socket;
  if (!job.steps_prefix.empty())
    env["ACTORRUN_STEPS"] = job.steps_prefix;
  else
    env.erase("ACTORRUN_STEPS"); // Of a worker that has started this launcher.
  if (!job.ras_address.empty())
    env["NCCL_RAS_ADDR"] = job.ras_address;
  set_timers(env, job);
  set_devices(env, job, local_rank);
  env.try_emplace("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  // Several workers with as many threads as cores each would fight over them.
  if (plan.own.slot_count > 1)
    env.try_emplace("OMP_NUM_THREADS", "1");
  return env;
}

} // namespace

std::vector<std::string>
worker_environment(std::span<const std::string> inherited,
                   const job_environment& job, const generation_plan& plan,
                   uint32_t local_rank, const std::string& error_file) {
  assert(local_rank < plan.own.slot_count);
  return lines_of(all_variables(inherited, job, plan, local_rank, error_file));
}

std::vector<std::string>
spare_environment(std::span<const std::string> inherited,
                  const job_environment& job, generation_plan plan,
                  const std::string& error_file) {
  assert(!job.virtual_local_rank);
  plan.is_ahead = true;
  auto env = all_variables(inherited, job, plan, 0, error_file);
  env.erase("LOCAL_RANK");
  return lines_of(env);
}

std::vector<std::string> generation_environment(const job_environment& job,
                                                const generation_plan& plan,
                                                uint32_t local_rank) {
  auto env = variables{};
  set_ranks(env, plan, local_rank);
  env["LOCAL_RANK"] = std::to_string(job.virtual_local_rank ? 0 : local_rank);
  return lines_of(env);
}

} // namespace actorrun::core
